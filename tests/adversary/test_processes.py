"""Nothing that a simulator or its launcher started outlives its session."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.adversary.client import Attacker
from tests.adversary.ledger import eventually
from tests.adversary.messages import Session, value
from tests.adversary.servers import Target, attacked

ESCAPER = "adversary/Escaper-v0"
#: What is promised is 5 s.
GONE_SECONDS = 60.0


def close(target: Target, attacker: Attacker, session: Session) -> None:
    attacker.ask(session, "close", 3).verdict()


def kill_the_front(target: Target, attacker: Attacker, session: Session) -> None:
    os.kill(target.pid, signal.SIGKILL)


def stop_the_server(target: Target, attacker: Attacker, session: Session) -> None:
    os.kill(target.pid, signal.SIGTERM)


ENDS = [close, kill_the_front, stop_the_server]
#: The front and the process that it forks from stay where only the session ends.
OF_THE_SERVER = {close: 2, kill_the_front: 0, stop_the_server: 0}
LAUNCHES = ["launch in a session", "launch twice", "leave an orphan"]
ONE_BY_ONE = [
    pytest.param(launch, end, marks=pytest.mark.long)
    for launch in [*LAUNCHES, "change its group"]
    for end in ENDS
]
HANGING = [
    pytest.param(launch, end, marks=pytest.mark.long)
    for launch in [*LAUNCHES, "launch everything"]
    for end in ["timeout", kill_the_front]
]


def start(attacker: Attacker) -> Session:
    session = attacker.make(ESCAPER)
    attacker.ask(session, "reset", 1).answer()
    return session


@pytest.mark.parametrize(
    ("escape", "end"), [*(("launch everything", end) for end in ENDS), *ONE_BY_ONE]
)
def test_nothing_outlives_its_session(
    escape: str, end: Callable[[Target, Attacker, Session], None]
) -> None:
    with attacked(ESCAPER, lease=60.0) as target, target.attacker() as attacker:
        session = start(attacker)
        assert attacker.ask(session, "step", 2, action=value(escape)).verdict() == "answered"
        end(target, attacker, session)
        assert eventually(lambda: len(target.processes()) <= OF_THE_SERVER[end], GONE_SECONDS)


@pytest.mark.parametrize(
    ("escape", "end"),
    [("change its group", "timeout"), ("ignore signals", kill_the_front), *HANGING],
)
def test_nothing_outlives_a_session_that_hangs(
    escape: str, end: str | Callable[[Target, Attacker, Session], None]
) -> None:
    with attacked(ESCAPER, step_timeout=1.0) as target, target.attacker() as attacker:
        session = start(attacker)
        hung = attacker.ask(session, "step", 2, action=value(escape + " and hang"))
        if callable(end):
            assert eventually(lambda: target.traces("escapes") != [])
            end(target, attacker, session)
            left = OF_THE_SERVER[end]
        else:
            assert hung.verdict() == "STEP_TIMEOUT"
            left = 2
        assert eventually(lambda: len(target.processes()) <= left, GONE_SECONDS)


@pytest.mark.long
def test_signals_that_are_ignored_keep_nothing_from_its_timeout() -> None:
    with attacked(ESCAPER, step_timeout=1.0) as target, target.attacker() as attacker:
        session = start(attacker)
        hung = attacker.ask(session, "step", 2, action=value("ignore signals and hang"))
        assert hung.verdict() == "STEP_TIMEOUT"
        assert eventually(lambda: len(target.processes()) <= 2, GONE_SECONDS)
