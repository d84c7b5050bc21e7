"""Environments that leave a server: a few sessions are made at once, and moving leaves time to step."""

from __future__ import annotations

import contextlib
import gc
import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.client._drivers import lease_renewer
from envwire.client._recovery.drain_migration import (
    Departure,
    DrainMigration,
    MoveBudget,
    close_unwanted,
)
from envwire.client._session.operations import Step


class Clock:
    """A clock that is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_moving_takes_50_ms_at_once_and_half_the_time_in_the_long_run() -> None:
    clock = Clock()
    budget = MoveBudget(clock)
    moved, stepped = 0.0, 0.0
    while budget.allows():
        clock.now += 0.01
        budget.spend(0.01)
        moved += 0.01
    assert 0.05 <= moved < 0.12
    for _ in range(1000):
        if budget.allows():
            clock.now += 0.01
            budget.spend(0.01)
            moved += 0.01
        else:
            clock.now += 0.01
            stepped += 0.01
    assert 0.4 < moved / (moved + stepped) < 0.6


def test_moves_that_overlapped_do_not_add_up() -> None:
    clock = Clock()
    budget = MoveBudget(clock)
    for _ in range(100):
        budget.spend(1.0)
    assert not budget.allows()
    clock.now += 0.2
    assert budget.allows()


def depart(make: Any, patience: float = 60.0) -> Departure:
    """Makes a session of which nobody keeps the lease."""
    return Departure(make, lambda _: None, patience)


def test_no_five_sessions_are_made_at_once() -> None:
    five = threading.Barrier(5)

    class Session:
        driver = None

    def make() -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            five.wait(0.5)  # broken by the first that waits for so long, and then for all
            together.append(True)
        return Session()

    together = list[bool]()
    for each in [depart(make) for _ in range(8)]:
        assert isinstance(each.take(), Session)
    assert not together


def test_who_is_not_moved_in_time_says_so_and_leaves_the_turns_to_others() -> None:
    hang, begun = threading.Event(), threading.Barrier(5)

    class Session:
        driver = None

    def hanging() -> Any:
        begun.wait(60.0)
        assert hang.wait(60.0)
        return Session()

    four = [depart(hanging) for _ in range(4)]
    begun.wait(60.0)
    late = depart(Session, patience=0.05)
    with pytest.raises(TimeoutError, match=r"others were moved before it, for 0\.05 s"):
        late.take()
    hang.set()
    for each in four:
        each.take()
    for each in [depart(Session) for _ in range(8)]:
        each.take()


@pytest.mark.parametrize("taken", [False, True])
def test_a_session_that_nobody_took_is_closed(monkeypatch: pytest.MonkeyPatch, taken: bool) -> None:
    closed = list[object]()
    monkeypatch.setattr(lease_renewer, "close_later", closed.append)
    made: Any = SimpleNamespace(driver=object())
    departure = depart(lambda: made)
    made_there = departure._made
    if taken:
        assert departure.take() is made
    made_there.result(60.0)
    del departure
    gc.collect()
    assert closed == ([] if taken else [made.driver])


def test_there_is_nothing_to_close_where_no_session_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease_renewer, "close_later", lambda _: pytest.fail("there is none"))
    failed, cancelled = Future[Any](), Future[Any]()
    failed.set_exception(ConnectionError())
    cancelled.cancel()
    for outcome in (failed, cancelled):
        close_unwanted(outcome)


@pytest.mark.parametrize(("left", "moves"), [(0.01, True), (1000.0, False)])
def test_who_has_no_time_left_moves_whatever_moving_took_so_far(left: float, moves: bool) -> None:
    budget = MoveBudget(Clock())
    budget.spend(1.0)

    class Session:
        driver = None

    strategy: Any = SimpleNamespace(moves=True, leaves_before=lambda _: True)
    session: Any = SimpleNamespace(
        pending=False,
        retries=SimpleNamespace(elsewhere=True),
        notices=[SimpleNamespace(time_left=left)],
    )
    maker: Any = SimpleNamespace(make=lambda *_: Session())
    departures = DrainMigration(maker, strategy, budget, depart)
    assert departures.due(session, None, Step(0)) is None
    assert departures._departure is not None
    departures._departure._made.result(60.0)
    assert (departures.due(session, None, Step(0)) is not None) is moves


def test_a_move_that_did_not_begin_takes_no_time() -> None:
    budget = MoveBudget(Clock())

    class Maker:
        def make(self, *_: Any) -> Any:
            raise ConnectionError("there is no other server")

    strategy: Any = SimpleNamespace(moves=True, leaves_before=lambda _: True)
    retries = SimpleNamespace(elsewhere=True)
    session: Any = SimpleNamespace(pending=False, retries=retries, notices=())
    maker: Any = Maker()
    departures = DrainMigration(maker, strategy, budget)
    assert departures.due(session, None, Step(0)) is None
    assert departures._departure is not None
    with contextlib.suppress(ConnectionError):
        departures._departure._made.result(60.0)
    assert departures.due(session, None, Step(0)) is None
    departures.cancel()
    assert budget._left == MoveBudget(Clock())._left


def test_a_short_move_leaves_time_for_more() -> None:
    budget = MoveBudget(Clock())

    class Session:
        driver = None

    strategy: Any = SimpleNamespace(moves=True, leaves_before=lambda _: True)
    session: Any = SimpleNamespace(
        pending=False, retries=SimpleNamespace(elsewhere=True), notices=()
    )
    maker: Any = SimpleNamespace(make=lambda *_: Session())
    for _ in range(3):
        departures = DrainMigration(maker, strategy, budget, depart)
        assert departures.due(session, None, Step(0)) is None
        assert departures._departure is not None
        departures._departure._made.result(60.0)
        assert departures.due(session, None, Step(0)) is not None
        departures.cancel()
