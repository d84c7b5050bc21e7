"""Requests to a session that hangs do not pile up in the front."""

from __future__ import annotations

import pytest

from tests.adversary.ledger import balanced, eventually, memory_of
from tests.adversary.messages import value
from tests.adversary.servers import attacked

SLEEPER = "adversary/Sleeper-v0"
MAX_BYTES = 100 * 2**20
FLOODS = [
    pytest.param(24, 8 * 2**20, id="24 of 8 MiB"),
    pytest.param(60, 30 * 2**20, id="60 of 30 MiB", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("calls", "size"), FLOODS)
def test_requests_to_a_hung_session_are_bounded_and_given_back(calls: int, size: int) -> None:
    with attacked(SLEEPER, step_timeout=8.0) as target, balanced(target) as before:
        with target.attacker() as attacker:
            session = attacker.make(SLEEPER)
            attacker.ask(session, "reset", 1).answer()
            hung = attacker.ask(session, "step", 2, action=value(60_000))
            assert eventually(lambda: target.traces("naps") != [])
            text = value("x" * size)
            sent = [attacker.ask(session, "step", 3 + n, action=text) for n in range(calls)]
            assert attacker.healthy()
            bounded = eventually(
                lambda: memory_of(target.pid) < before.memory + MAX_BYTES, seconds=4.0
            )
            assert hung.verdict() == "STEP_TIMEOUT"
            assert "answered" not in {call.verdict() for call in sent}
        assert bounded, "the front holds what a hung session does not take"
