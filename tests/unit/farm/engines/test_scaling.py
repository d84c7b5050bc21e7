"""When servers are added and drained: the bounds, free slots, Makes that wait, and how long too many were free."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.farm.engines.scaling import FarmSituation, Load, Scale, Scaling, keep_scaled

WARNED = ("envwire.farm", logging.WARNING)
SCALE = Scale(least=1, most=4, free=3, idle=60.0)


def seen(
    *used: int, slots: int = 10, size: int = -1, starting: int = 0, waiting: int = 0
) -> FarmSituation:
    loads = [Load(f"server-{index}", each, slots - each) for index, each in enumerate(used)]
    return FarmSituation(loads, len(loads) + starting if size < 0 else size, starting, waiting)


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
def test_when_a_server_is_added(situation: FarmSituation, adds: bool) -> None:
    assert Scaling(SCALE).must_add(situation, 0.0) is adds


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
def test_which_server_is_drained(situation: FarmSituation, drained: str) -> None:
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
    assert not scaling.must_add(after, 0.0)


def test_bounds_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="--min is 3, more than --max, 2"):
        Scale(3, 2)
    assert [Scale(2, 4).clamp(each) for each in (1, 3, 9)] == [2, 3, 4]


class Clock:
    """Stands for the module `time`, and for `asyncio.sleep` until a time."""

    def __init__(self, end: float) -> None:
        self.now, self._end, self._sleep = 1000.0, 1000.0 + end, asyncio.sleep

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now > self._end:
            raise asyncio.CancelledError
        await self._sleep(0)


class Fleet:
    """Servers that do not start."""

    size = 0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.tried: list[float] = []
        self.works_from = float("inf")

    async def add(self) -> str:
        self.tried.append(self._clock.now - 1000.0)
        if self.tried[-1] < self.works_from:
            raise OSError("no image of that name")
        self.size += 1
        return "127.0.0.1:1"

    async def drain(self, address: str) -> None:
        raise AssertionError(address)


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    clock = Clock(100.0)
    monkeypatch.setattr("envwire.farm.engines.scaling.time", clock)
    of_the_clock = SimpleNamespace(**vars(asyncio) | {"sleep": clock.sleep})
    monkeypatch.setattr("envwire.farm.engines.scaling.asyncio", of_the_clock)
    return Fleet(clock)


def scaled(fleet: Fleet, scale: Scale) -> None:
    async def registered_at(_: str) -> None: ...

    running: Any = SimpleNamespace(registry=(), queue=(), registered_at=registered_at)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(keep_scaled(running, fleet, scale))


def pauses(fleet: Fleet) -> list[float]:
    return [late - early for early, late in pairwise(fleet.tried)]


def test_servers_that_do_not_start_are_tried_less_and_less_often(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    scaled(fleet, SCALE)
    assert pauses(fleet) == [1.5, 2.5, 4.5, 8.5, 16.5, 32.5]
    told = [text for name, level, text in caplog.record_tuples if (name, level) == WARNED]
    assert len(told) == len(fleet.tried)
    assert told[2] == "no server was added: no image of that name; the next attempt is in 4 s"


def test_once_one_starts_the_next_is_not_waited_for(fleet: Fleet) -> None:
    fleet.works_from = 5.0
    scaled(fleet, Scale(least=3, most=3))
    assert pauses(fleet) == [1.5, 2.5, 4.5, 0.5, 0.5]
