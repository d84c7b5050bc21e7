"""The scoreboard: what a session process notes, the front reads, row by row."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from envwire.server._ipc.scoreboard import MARKS, Scoreboard, make_scoreboard

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
    process.begin(row)
    noted[row] = (True, 0)
    assert read(front) == noted
    process.end(row, 1, 1)
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
    for stepping in (5, 7):
        process.begin(1)
        process.end(1, stepping, 10 * stepping)
        assert front.times(1)[0] > 0
        assert front.times(1)[1] == stepping
        assert front.steps(1) == 10 * stepping
    assert front.times(0) == (0, 0)
    assert front.steps(0) == 0


def test_a_cleared_row_is_empty_and_the_others_are_not(scoreboards: Pair) -> None:
    process, front = scoreboards
    for row in range(ROWS):
        process.begin(row)
        process.end(row, 1, 1)
        process.begin(row)
    front.clear(1)
    kept = (True, 1)
    assert read(front) == [kept, NOTHING, kept]


def test_a_closed_scoreboard_keeps_what_was_served_and_shows_nothing_in_progress() -> None:
    descriptor, scoreboard = make_scoreboard(ROWS)
    os.close(descriptor)
    for row in range(ROWS):
        scoreboard.begin(row)
        scoreboard.end(row, 5, 2)
        scoreboard.begin(row)
        scoreboard.mark(row, True)
    scoreboard.close()
    assert read(scoreboard) == [(False, 1)] * ROWS
    assert [scoreboard.times(row)[1] for row in range(ROWS)] == [5] * ROWS
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
