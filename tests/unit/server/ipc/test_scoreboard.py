"""The scoreboard: the front reads the values that session processes write, row by row."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator

import pytest

from envwire.server._ipc.scoreboard import EPISODES, MARKS, Scoreboard, loss_reason, make_scoreboard

ROWS = 3
Pair = tuple[Scoreboard, Scoreboard]


@pytest.fixture
def scoreboards() -> Iterator[Pair]:
    """The process's scoreboard and the front's, over the same memory."""
    descriptor, front = make_scoreboard(ROWS)
    process = Scoreboard(descriptor, ROWS)
    os.close(descriptor)
    yield process, front
    process.close()
    front.close()


Row = tuple[bool, int]
NOTHING: Row = (False, 0)


def read(scoreboard: Scoreboard) -> list[Row]:
    return [(scoreboard.busy_for(row) > 0, scoreboard.served(row)) for row in range(ROWS)]


def test_a_new_scoreboard_is_empty(scoreboards: Pair) -> None:
    assert read(scoreboards[1]) == [NOTHING] * ROWS


@pytest.mark.parametrize("row", range(ROWS))
def test_what_is_noted_in_a_row_is_read_in_it_and_in_no_other(scoreboards: Pair, row: int) -> None:
    process, front = scoreboards
    noted = [NOTHING] * ROWS
    own = process.row(row)
    own.begin()
    noted[row] = (True, 0)
    assert read(front) == noted
    own.end(1, 1, time.monotonic_ns())
    noted[row] = (False, 1)
    assert read(front) == noted


def test_a_request_is_busy_for_ever_longer(scoreboards: Pair) -> None:
    process, front = scoreboards
    process.begin(1)
    first = front.busy_for(1)
    assert 0 < first < front.busy_for(1) < 60
    assert front.served(1) == 0


def test_times_add_up_and_steps_are_a_part_of_them(scoreboards: Pair) -> None:
    process, front = scoreboards
    own = process.row(1)
    for stepping in (5, 7):
        own.begin()
        own.end(stepping, 10 * stepping, time.monotonic_ns())
        seen = front.counters(1)
        assert 0 < seen.replying < seen.serving
        assert seen.stepping == stepping
        assert front.steps(1) == seen.steps == 10 * stepping
    assert (front.counters(0).serving, front.counters(0).stepping) == (0, 0)
    assert front.steps(0) == 0


def test_a_cleared_row_is_empty_and_the_others_are_not(scoreboards: Pair) -> None:
    process, front = scoreboards
    for row in range(ROWS):
        own = process.row(row)
        own.begin()
        own.end(1, 1, time.monotonic_ns())
        own.add_episodes([(1.0, 1)])
        own.begin()
    front.clear(1)
    kept = (True, 1)
    assert read(front) == [kept, NOTHING, kept]
    assert [front.counters(row).episodes for row in range(ROWS)] == [1, 0, 1]
    assert not any(front.counters(1))


def test_a_closed_scoreboard_keeps_what_was_served_and_shows_nothing_in_progress() -> None:
    descriptor, scoreboard = make_scoreboard(ROWS)
    os.close(descriptor)
    for row in range(ROWS):
        own = scoreboard.row(row)
        own.begin()
        own.end(5, 2, time.monotonic_ns())
        own.add_episodes([(-2.5, 7)])
        own.begin()
        scoreboard.mark(row, True)
    scoreboard.close()
    assert read(scoreboard) == [(False, 1)] * ROWS
    assert [scoreboard.counters(row).stepping for row in range(ROWS)] == [5] * ROWS
    assert [[each[:2] for each in scoreboard.episodes(row)] for row in range(ROWS)] == [
        [(-2.5, 7)]
    ] * ROWS
    assert not any(scoreboard.marked(slot) for slot in range(MARKS))


def test_marks_are_seen_on_both_sides_and_are_no_rows(scoreboards: Pair) -> None:
    process, front = scoreboards
    for place in range(MARKS):
        process.mark(place, True)
        assert [front.marked(each) for each in range(MARKS)] == [
            each <= place for each in range(MARKS)
        ]
    assert read(front) == [NOTHING] * ROWS
    front.mark(3, False)
    assert not process.marked(3)


def test_the_last_episodes_are_kept_and_all_are_counted(scoreboards: Pair) -> None:
    process, front = scoreboards
    own = process.row(2)
    own.add_episodes([(0.0, 0), (0.5, 1)])
    for number in range(2, EPISODES + 3):
        own.add_episodes([(number / 2, number)])
    seen, last = front.counters(2), front.episodes(2)
    assert seen.episodes == EPISODES + 3
    assert seen.lengths == sum(range(EPISODES + 3))
    assert seen.returns == sum(range(EPISODES + 3)) / 2
    assert [each[:2] for each in last] == [(n / 2, n) for n in range(3, EPISODES + 3)]
    assert sorted(each.ended for each in last) == [each.ended for each in last]


@pytest.mark.parametrize("total", [math.inf, -math.inf, math.nan])
def test_a_return_that_is_not_finite_spoils_no_sum(scoreboards: Pair, total: float) -> None:
    process, front = scoreboards
    own = process.row(0)
    own.add_episodes([(1.5, 1), (total, 1)])
    assert front.counters(0)[8:11] == (2, 2, 1.5)


def test_repeats_replays_and_the_make_are_noted_beside_requests(scoreboards: Pair) -> None:
    process, front = scoreboards
    own = process.row(1, making=30, describing=4)
    before = time.monotonic_ns()
    own.add_repeat()
    own.add_replay(40, 0, "")
    own.add_replay(2, 3, "DRAINING")
    own.set_device(4096)
    own.begin()
    own.received, own.sent = 10, 20
    own.end(1, 2, time.monotonic_ns())
    seen = front.counters(1)
    assert seen.device == 4096
    assert (seen.repeated, seen.replayed, seen.epoch) == (1, 42, 3)
    assert loss_reason(seen.loss) == "DRAINING"
    assert before <= seen.repeated_at <= seen.replayed_at
    assert (seen.making, seen.describing, seen.received, seen.sent) == (30, 4, 10, 20)


def test_a_reason_that_nobody_knows_has_a_name_of_ours(scoreboards: Pair) -> None:
    process, front = scoreboards
    process.row(0).add_replay(1, 1, "<script>")
    assert loss_reason(front.counters(0).loss) == "UNKNOWN"
    assert loss_reason(2**64 - 1) == "UNKNOWN"
