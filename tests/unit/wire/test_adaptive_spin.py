"""Polling before sleeping: only after a short wait, only for a short time, and never on a single processor."""

from __future__ import annotations

from itertools import count

import pytest

from envwire.wire.local_channel import AdaptiveSpin


class Clock:
    """A clock that moves by a microsecond whenever it is read."""

    def __init__(self) -> None:
        self._ticks = count()
        self.ahead = 0.0

    def __call__(self) -> float:
        return next(self._ticks) * 1e-6 + self.ahead


def looks(spin: AdaptiveSpin, ready_at: int = 1000) -> tuple[int, list[str]]:
    """Begins a wait; returns the number of polls and their result."""
    seen = 0

    def poll(timeout: int) -> list[str]:
        nonlocal seen
        assert timeout == 0
        seen += 1
        return ["reply"] if seen == ready_at else []

    found = spin.poll(poll)
    return seen, found or []


def test_the_first_wait_and_those_after_a_long_one_sleep_at_once() -> None:
    clock = Clock()
    spin = AdaptiveSpin(clock, alone=False)
    assert looks(spin) == (0, [])
    clock.ahead += 0.001
    spin.woke()
    assert looks(spin) == (0, [])


def test_after_a_short_wait_it_looks_until_there_is_something() -> None:
    spin = AdaptiveSpin(Clock(), alone=False)
    looks(spin)
    spin.woke()
    assert looks(spin, ready_at=3) == (3, ["reply"])


def test_it_looks_for_a_moment_only() -> None:
    spin = AdaptiveSpin(Clock(), alone=False)
    looks(spin)
    spin.woke()
    times, found = looks(spin)
    assert 10 < times < 250
    assert found == []


@pytest.mark.parametrize("alone", [True, False])
def test_the_only_processor_is_left_to_the_peer(alone: bool) -> None:
    spin = AdaptiveSpin(Clock(), alone=alone)
    looks(spin)
    spin.woke()
    assert (looks(spin)[0] == 0) is alone


def short_waits(spin: AdaptiveSpin) -> int:
    """Returns after how many short waits it polls."""
    waits = 0
    while looks(spin)[0] == 0:
        spin.woke()
        waits += 1
    return waits


def test_each_time_in_vain_it_waits_for_twice_as_many_short_waits() -> None:
    spin, waits = AdaptiveSpin(Clock(), alone=False), list[int]()
    for _ in range(9):
        waits.append(short_waits(spin))
        spin.woke()
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 128]


def test_one_that_polling_served_makes_up_for_one_in_vain() -> None:
    spin = AdaptiveSpin(Clock(), alone=False)
    for _ in range(4):
        short_waits(spin)
        spin.woke()
    short_waits(spin)
    assert looks(spin, ready_at=2)[1] == ["reply"]
    looks(spin)
    spin.woke()
    assert short_waits(spin) == 1


def test_a_long_wait_delays_the_next_try_and_does_not_prevent_it() -> None:
    clock = Clock()
    spin = AdaptiveSpin(clock, alone=False)
    for _ in range(8):
        short_waits(spin)
        spin.woke()
    waits = 0
    while looks(spin)[0] == 0 and waits < 1000:
        waits += 1
        clock.ahead += 0.001 if waits % 32 == 0 else 0.0  # as on a busy machine
        spin.woke()
    assert 128 < waits < 300
