"""Each Make is counted once, with its outcome and its duration."""

from __future__ import annotations

import itertools

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.counters import CANCELLED, MADE, MAKE_BOUNDS, Tally, makes


def test_makes_are_counted_by_outcome_and_duration() -> None:
    clock = itertools.count(0.0, 0.25)  # each takes so long
    tally = Tally(lambda: next(clock))
    for _ in range(2):
        with tally.making() as count:
            count.outcome = MADE
    with pytest.raises(FaultError), tally.making():
        raise FaultError(Reason.CAPACITY_REACHED, "full")
    with pytest.raises(KeyboardInterrupt), tally.making():
        raise KeyboardInterrupt
    assert tally.makes == {MADE: 2, "CAPACITY_REACHED": 1, CANCELLED: 1}
    assert tally.make_seconds == 4 * 0.25
    of_outcomes, durations = makes(tally)
    assert sum(sample.value for sample in of_outcomes.samples) == 4
    found = {
        sample.labels["le"]: sample.value for sample in durations.samples if "le" in sample.labels
    }
    assert (found["0.1"], found["0.25"], found["+Inf"]) == (0, 4, 4)


def test_durations_are_told_apart_by_bounds_that_ascend() -> None:
    assert list(MAKE_BOUNDS) == sorted(set(MAKE_BOUNDS))
