"""Totals of sessions and of Makes: each counter goes where it belongs, in seconds."""

from __future__ import annotations

import math
from dataclasses import astuple
from types import SimpleNamespace
from typing import Any

from envwire.server._front.observed_status import session_counters
from envwire.server._front.sessions.session_totals import MakeTimings, SessionTotals
from envwire.server._ipc.scoreboard import Counters

#: Each counter has another value; times are whole seconds.
COUNTERS = Counters(*range(1, len(Counters._fields) + 1))._replace(
    serving=3 * 10**9, stepping=2 * 10**9, replying=10**9, epoch=0
)


def session(**counters: Any) -> Any:
    return SimpleNamespace(
        counters=COUNTERS._replace(**counters),
        cpu=0.5,
        liveness=SimpleNamespace(waited=0.25),
        env_id="Pole",
    )


def test_totals_are_the_sums_of_all_sessions() -> None:
    totals = SessionTotals()
    totals.add(session())
    shown = totals.with_open([session(), session(returns=math.inf)])
    assert (shown.serving, shown.stepping, shown.replying) == (9.0, 6.0, 3.0)
    assert (shown.cpu, shown.relaying) == (1.5, 0.75)
    for name in ("requests", "steps", "received", "sent", "repeated", "replayed"):
        assert getattr(shown, name) == 3 * getattr(COUNTERS, name), name
    assert not shown.recoveries
    assert astuple(shown.episodes["Pole"]) == (
        3 * COUNTERS.episodes,
        3 * COUNTERS.lengths,
        2 * COUNTERS.returns,
    )
    assert totals.requests == COUNTERS.requests, "open ones count once they end"


def test_a_session_that_replaced_a_lost_one_counts_as_a_recovery() -> None:
    totals = SessionTotals()
    totals.add(session(epoch=2))
    assert totals.recoveries.total() == 1


def test_a_make_is_divided_into_its_parts() -> None:
    timings = MakeTimings()
    counters: Any = COUNTERS._replace(making=3 * 10**9, describing=10**9)
    timings.add(0.25, 0.5, 5.0, counters)
    timings.add(0.25, 0.5, 1.0, counters)  # clocks differ: nothing is negative
    assert astuple(timings) == (0.5, 1.0, 6.0, 2.0, 1.0)


def test_watchers_see_counters_in_seconds() -> None:
    seen = session_counters(COUNTERS)
    assert (seen.serving, seen.stepping, seen.replying) == (3.0, 2.0, 1.0)
    assert (seen.requests, seen.steps) == (COUNTERS.requests, COUNTERS.steps)
    assert seen.loss == ""
