"""The life of a session follows the table of states, for events in any order."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any
from unittest import mock

import pytest

from envwire.codec import FaultError
from envwire.server._front.sessions.life import ALIVE, ENDS, TRANSITIONS, Life, LifeEvent
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._processes.resources import ProcessorTime
from tests.each import each


class Output:
    def text(self) -> str:
        return "its last words"


class Process:
    """A process that only records its calls."""

    pid = 7
    shared = True
    output = Output()
    processor_time = ProcessorTime(pid)

    def __init__(self) -> None:
        self.done: list[str] = []

    def open(self, _: SessionRecord) -> object:
        return object()

    def end(self, _: object) -> None:
        self.done.append("leave")

    def kill(self) -> None:
        self.done.append("kill")


def lead(*events: LifeEvent) -> tuple[SessionRecord, list[str]]:
    """Returns a session after the given events, and the calls of its process."""

    async def main() -> SessionRecord:
        on_end = mock.Mock()
        session = SessionRecord(60.0, lambda: 0.0, 120.0, on_end, process, "name")
        session.owner = "token alice"
        for event in events:
            if event is LifeEvent.MADE:
                session.on_made(step_timeout=30.0)
            else:
                session.end(event, how="exited with status 1", exit_status="1")
        return session

    process: Any = Process()
    return asyncio.run(main()), process.done


BEFORE = {Life.MAKING: (), Life.LIVE: (LifeEvent.MADE,)}


@each(("life", "event"), list(itertools.product(ALIVE, ENDS)))
def test_each_end_does_what_the_table_says(life: Life, event: LifeEvent) -> None:
    session, done = lead(*BEFORE[life], event)
    assert session.life is TRANSITIONS[life, event] is ENDS[event].life
    assert session.end_reason is not None
    assert session.end_reason.reason is ENDS[event].reason
    assert done == (["kill", "leave"] if ENDS[event].kills else ["leave"])
    assert session.end_reason.output == ("its last words" if ENDS[event].kills else "")
    assert "{" not in session.end_reason.message


@each(("first", "second"), list(itertools.product(ENDS, ENDS)))
def test_the_first_end_counts(first: LifeEvent, second: LifeEvent) -> None:
    session, done = lead(LifeEvent.MADE, first, second)
    once, done_once = lead(LifeEvent.MADE, first)
    assert session.life is once.life
    assert str(session.end_reason) == str(once.end_reason).replace(once.id, session.id)
    assert done == done_once


def test_only_a_process_that_may_hang_or_lie_is_killed() -> None:
    killed = {event for event, end in ENDS.items() if end.kills}
    assert killed == {LifeEvent.OVERRUN, LifeEvent.DIE, LifeEvent.MISBEHAVE}


@pytest.mark.parametrize(
    ("before", "option"), [((), "--make-timeout"), ((LifeEvent.MADE,), "--step-timeout")]
)
def test_the_option_that_allows_more_time_is_named(
    before: tuple[LifeEvent, ...], option: str
) -> None:
    reason = lead(*before, LifeEvent.OVERRUN)[0].end_reason
    assert reason is not None
    assert reason.message.endswith(f"more time with {option}")


@pytest.mark.parametrize(
    ("status", "text", "known"),
    [(1, "exited with status 1", "1"), (-9, "SIGKILL", "-9"), (None, "closed its", "unknown")],
)
def test_a_client_learns_how_the_process_ended(status: int | None, text: str, known: str) -> None:
    async def main() -> FaultError:
        process: Any = Process()
        process.wait_lost = mock.AsyncMock(return_value=status)
        session = SessionRecord(60.0, lambda: 0.0, 120.0, mock.Mock(), process, "name")
        session.on_lost()
        return await session.why_ended()

    reason = asyncio.run(main())
    assert text in reason.message
    assert reason.metadata["exit_status"] == known


@pytest.mark.parametrize("event", ENDS)
def test_what_is_made_too_late_has_ended(event: LifeEvent) -> None:
    with pytest.raises(FaultError) as fault:
        lead(event, LifeEvent.MADE)
    assert fault.value.reason is ENDS[event].reason


def test_a_session_has_the_time_to_be_made_and_then_that_of_a_step() -> None:
    assert lead()[0].liveness.timeout == 120.0
    assert lead(LifeEvent.MADE)[0].liveness.timeout == 30.0


def test_every_stage_is_reached_and_the_ended_go_nowhere() -> None:
    assert {Life.MAKING, *TRANSITIONS.values()} == set(Life)
    assert {life for life, _ in TRANSITIONS} == set(ALIVE)


def test_a_session_keeps_its_last_events() -> None:
    async def main() -> SessionRecord:
        clock = itertools.count(-1.0)  # it looks once when it begins
        process: Any = Process()
        session = SessionRecord(60.0, lambda: next(clock), 120.0, mock.Mock(), process, "name")
        session.liveness = mock.Mock(streams=0)
        for _ in range(100):
            session.attach()
        return session

    seen = asyncio.run(main()).events
    assert [text for _, text in seen] == ["stream opened"] * 32
    times = [at for at, _ in seen]
    assert times == [times[-1] - back for back in range(31, -1, -1)]
