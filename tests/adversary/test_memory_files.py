"""An environment that corrupts the memory that its process shares with the front harms at most itself."""

from __future__ import annotations

import pytest

from tests.adversary.ledger import balanced
from tests.adversary.messages import value
from tests.adversary.servers import attacked

SLEEPER, DESCRIPTORS = "adversary/Sleeper-v0", "adversary/Descriptors-v0"


@pytest.mark.parametrize("how", ["shorten", "punch"])
def test_a_memory_file_that_changes_its_size_does_not_end_the_front(how: str) -> None:
    with (
        attacked(SLEEPER, DESCRIPTORS, shared_memory=2**24) as target,
        balanced(target),
        target.attacker() as attacker,
    ):
        neighbour, session = attacker.make(SLEEPER), attacker.make(DESCRIPTORS)
        for each in (neighbour, session):
            attacker.ask(each, "reset", 1).answer()
        attacker.ask(session, "step", 2, action=value(how)).verdict()
        attacker.ask(session, "step", 3, action=value(how)).verdict()
        attacker.ask(attacker.make(SLEEPER), "close", 1).verdict()
        assert attacker.ask(neighbour, "step", 2, action=value(0)).verdict() == "answered"
        assert target.pid in target.processes()
        attacker.ask(neighbour, "close", 3).answer()
        attacker.ask(session, "close", 4).verdict()
