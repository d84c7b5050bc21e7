"""Sessions that share a process: one client's actions cost the others neither slots nor sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adversary.channel import DirectChannel
from tests.adversary.client import Attacker, RefusedError, verdict
from tests.adversary.ledger import balanced, eventually
from tests.adversary.messages import Session, make_request, value
from tests.adversary.servers import Target, attacked
from tests.adversary.tokens import Tokens

SLEEPER, FLOODER, WARNER = (f"adversary/{name}-v0" for name in ("Sleeper", "Flooder", "Warner"))
STEP_SECONDS = 1.5


@pytest.fixture
def packed() -> Iterator[Target]:
    """A server that puts three sessions into a process and gives a step little time."""
    with attacked(
        "adversary/*", sessions_per_process=3, step_timeout=STEP_SECONDS, lease=60.0
    ) as target:
        yield target


def pid_of(attacker: Attacker, session: Session) -> int:
    info = attacker.ask(session, "reset", 1).answer().info
    return next(entry.value.int_value for entry in info.entries if entry.name == "pid")


def steps(attacker: Attacker, session: Session, seconds: float, sequence: int = 2) -> int:
    """Takes quick steps for a while; returns the number of the next."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        attacker.ask(session, "step", sequence, action=value(0)).answer()
        sequence += 1
        time.sleep(0.05)
    return sequence


CROWDS = [
    pytest.param(12, 2, id="12 by 2"),
    pytest.param(24, 20, id="24 by 20"),
    pytest.param(60, 50, id="60 by 50", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("makes", "sessions_per_process"), CROWDS)
def test_makes_at_once_lose_no_slot_and_share_as_few_processes_as_they_can(
    makes: int, sessions_per_process: int
) -> None:
    settings: dict[str, Any] = {
        "sessions_per_process": sessions_per_process,
        "max_sessions": makes,
    }
    with (
        attacked(SLEEPER, **settings) as target,
        balanced(target),
        target.attacker() as attacker,
    ):
        calls = [attacker.begin("Make", make_request(SLEEPER)) for _ in range(makes)]
        made = [Session(call.answer(), attacker.target) for call in calls]
        pids = {pid_of(attacker, session) for session in made}
        assert len(pids) == -(-makes // sessions_per_process)
        assert {attacker.ask(each, "close", 2).verdict() for each in made} == {"answered"}


def test_makes_that_fail_at_once_leave_no_slot_taken() -> None:
    with (
        attacked(SLEEPER, sessions_per_process=2, max_sessions=12) as target,
        balanced(target),
        target.attacker() as attacker,
    ):
        request = make_request(SLEEPER, kwargs={"seats": 3}, wrappers=("ClipAction",))
        calls = [attacker.begin("Make", request, seconds=10.0) for _ in range(12)]
        assert {call.verdict() for call in calls} == {"ENVIRONMENT_RAISED"}


def test_an_answer_that_comes_late_harms_no_later_session(packed: Target) -> None:
    with packed.attacker() as attacker, packed.attacker() as others:
        session, neighbour = attacker.make(SLEEPER), others.make(SLEEPER)
        assert pid_of(attacker, session) == pid_of(others, neighbour)
        with DirectChannel(session) as channel:
            nap, close = value(800), session.direct_request("close", 3)
            channel.send(session.direct_request("step", 2, action=nap), close)
            assert eventually(lambda: packed.traces("naps") != [])
            late = [attacker.ask(session, "step", 4 + n, action=value(0)) for n in range(3)]
            attacker.info()  # they are on their way
            assert verdict(channel.receive()) == "step"
        tenant = others.make(SLEEPER)
        others.ask(tenant, "reset", 1).answer()
        steps(others, neighbour, 3 * STEP_SECONDS)
        assert others.ask(tenant, "step", 2, action=value(0)).verdict() == "answered"
        assert {call.verdict() for call in late} == {"SESSION_CLOSED"}


def test_a_step_of_a_token_that_is_revoked_harms_no_later_session() -> None:
    with (
        Tokens("alice", "bob") as tokens,
        attacked(
            SLEEPER,
            sessions_per_process=3,
            share_processes=True,
            step_timeout=STEP_SECONDS,
            tokens=tokens,
        ) as target,
        target.attacker(token=tokens["alice"]) as alice,
        target.attacker(token=tokens["bob"]) as bob,
    ):
        session, neighbour = alice.make(SLEEPER), bob.make(SLEEPER)
        alice.ask(session, "reset", 1).answer()
        bob.ask(neighbour, "reset", 1).answer()
        nap = alice.ask(session, "step", 2, action=value(1000))
        assert eventually(lambda: target.traces("naps") != [])
        tokens.strike_off("alice")
        assert eventually(lambda: bob.info().active_sessions == 1)
        tenant = bob.make(SLEEPER)
        bob.ask(tenant, "reset", 1).answer()
        nap.verdict()
        steps(bob, neighbour, 3 * STEP_SECONDS)
        assert bob.ask(tenant, "step", 2, action=value(0)).verdict() == "answered"


def test_a_client_that_does_not_read_harms_nobody_beside_it(packed: Target) -> None:
    with packed.attacker() as attacker, packed.attacker() as others:
        session, neighbour = attacker.make(FLOODER), others.make(SLEEPER)
        assert pid_of(attacker, session) == pid_of(others, neighbour)
        with DirectChannel(session, receive_bytes=4096) as channel:
            flood = value(2**22)
            channel.send(*(session.direct_request("step", 2 + n, action=flood) for n in range(8)))
            steps(others, neighbour, 3 * STEP_SECONDS)


def test_warnings_reach_the_client_whose_environment_gave_them_and_no_other(packed: Target) -> None:
    with packed.attacker() as attacker, packed.attacker() as others:
        session, neighbour = attacker.make(WARNER), others.make(SLEEPER)
        assert pid_of(attacker, session) == pid_of(others, neighbour)
        with pytest.raises(RefusedError, match="it fails") as failed:
            attacker.ask(session, "step", 2, action=value(7)).answer()
        assert failed.value.warnings == ["the client played 7"]
        assert others.ask(neighbour, "step", 2, action=value(0)).answer().warnings == []
        told = attacker.ask(session, "step", 3, action=value(0)).answer().warnings
        assert [warning.text for warning in told] == ["the client played 0"]
