"""The front does not trust messages that an environment sends in the name of its process."""

from __future__ import annotations

import pytest

from tests.adversary.ledger import balanced, peak_within
from tests.adversary.messages import value
from tests.adversary.servers import attacked

SLEEPER, SPEAKER = "adversary/Sleeper-v0", "adversary/Speaker-v0"
MAX_BYTES = 64 * 2**20


@pytest.mark.parametrize("said", ["noise", "zeros", "ones"])
def test_what_an_environment_writes_to_the_front_ends_its_own_session(said: str) -> None:
    with (
        attacked(SLEEPER, SPEAKER) as target,
        balanced(target),
        peak_within(target, MAX_BYTES),
        target.attacker() as attacker,
    ):
        neighbour, session = attacker.make(SLEEPER), attacker.make(SPEAKER)
        for each in (neighbour, session):
            attacker.ask(each, "reset", 1).answer()
        assert attacker.ask(session, "step", 2, action=value(said)).verdict() == "SESSION_LOST"
        assert attacker.ask(neighbour, "step", 2, action=value(0)).verdict() == "answered"
        attacker.ask(neighbour, "close", 3).answer()
