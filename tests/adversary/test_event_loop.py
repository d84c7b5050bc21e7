"""The death of a session leaves nothing in the front's event loop that affects later sessions, with any event loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.ledger import eventually
from tests.adversary.messages import value
from tests.adversary.servers import attacked

SLEEPER = "adversary/Sleeper-v0"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_makes_go_on_after_a_copy_of_a_session_that_died(loop: str, tmp_path: Path) -> None:
    variables = {}
    if loop == "asyncio":
        (tmp_path / "uvloop.py").write_text("raise ModuleNotFoundError('uvloop')\n")
        variables = {"PYTHONPATH": str(tmp_path)}
    with (
        attacked(SLEEPER, step_timeout=1.0, variables=variables) as target,
        target.attacker() as attacker,
    ):
        session = attacker.make(SLEEPER)
        attacker.ask(session, "reset", 1).answer()
        hung = attacker.ask(session, "step", 2, action=value(60_000))
        assert eventually(lambda: target.traces("naps") != [])
        copied = attacker.begin("Make", session.copied())
        assert hung.verdict() == "STEP_TIMEOUT"
        made = [attacker.make(SLEEPER) for _ in range(4)]  # with the descriptors of the dead one
        assert copied.verdict() != "answered"
        for each in made:
            attacker.ask(each, "reset", 1).answer()
            attacker.ask(each, "close", 2).answer()
