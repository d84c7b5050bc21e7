"""When servers are added and drained: the bounds, free slots, Makes that wait, and how long too many were free."""

from __future__ import annotations

import pytest

from envwire.farm.engines.scaling import Load, Scale, Scaling, Situation

SCALE = Scale(least=1, most=4, free=3, idle=60.0)


def seen(
    *used: int, slots: int = 10, size: int = -1, starting: int = 0, waiting: int = 0
) -> Situation:
    loads = [Load(f"server-{index}", each, slots - each) for index, each in enumerate(used)]
    return Situation(loads, len(loads) + starting if size < 0 else size, starting, waiting)


@pytest.mark.parametrize(
    ("situation", "adds"),
    [
        (seen(7), False),  # three are free
        (seen(8), True),
        (seen(8, starting=1), False),  # it brings ten
        (seen(10, starting=1, waiting=7), False),
        (seen(10, starting=1, waiting=8), True),  # those that wait take them all but two
        (seen(0, waiting=8), True),  # as when no server has their environment
        (seen(10, 10, 10, 10, waiting=50), False),  # the most
        (seen(10, 10, 10, size=4), False),  # one is lost, and is about to come back
        (seen(size=0), True),  # the least
        (seen(size=1), True),  # the only one is lost
        (seen(size=4), False),
    ],
)
def test_when_a_server_is_added(situation: Situation, adds: bool) -> None:
    assert Scaling(SCALE).must_add(situation) is adds


@pytest.mark.parametrize(
    ("situation", "drained"),
    [
        (seen(2, 1), "server-1"),
        (seen(0, 0, 0), "server-0"),
        (seen(0), ""),  # the least
        (seen(2, 3), ""),  # five would be left, of the six that are to be free
        (seen(2, 2), "server-0"),
        (seen(0, 0, starting=1), ""),
        (seen(0, 0, waiting=1), ""),
        (seen(size=2), ""),
    ],
)
def test_which_server_is_drained(situation: Situation, drained: str) -> None:
    scaling = Scaling(SCALE)
    assert scaling.to_drain(situation, 100.0) is None
    assert scaling.to_drain(situation, 159.9) is None
    found = scaling.to_drain(situation, 160.0)
    assert (found.address if found else "") == drained


def test_slots_that_were_taken_meanwhile_begin_the_time_again() -> None:
    scaling = Scaling(SCALE)
    assert scaling.to_drain(seen(0, 0), 0.0) is None
    assert scaling.to_drain(seen(10, 9), 30.0) is None
    assert scaling.to_drain(seen(0, 0), 60.0) is None
    assert scaling.to_drain(seen(0, 0), 119.0) is None
    assert scaling.to_drain(seen(0, 0), 120.0) is not None


def test_one_that_is_drained_is_not_added_again() -> None:
    scaling = Scaling(Scale(least=1, most=4, free=3, idle=0.0))
    before = seen(2, 2)
    assert scaling.to_drain(before, 0.0) == before.loads[0]
    after = seen(4)
    assert not scaling.must_add(after)


def test_bounds_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="--min is 3, more than --max, 2"):
        Scale(3, 2)
    assert [Scale(2, 4).clamp(each) for each in (1, 3, 9)] == [2, 3, 4]
