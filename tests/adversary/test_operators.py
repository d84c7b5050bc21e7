"""Environments can reach the port of their own server, but have no rights of an operator there."""

from __future__ import annotations

from tests.adversary.client import Attacker
from tests.adversary.messages import value
from tests.adversary.servers import Target, attacked
from tests.adversary.tokens import Tokens

INSIDER, SLEEPER = "adversary/Insider-v0", "adversary/Sleeper-v0"


def attack(target: Target, attacker: Attacker) -> list[str]:
    """Has an environment list sessions, end its neighbour and drain; returns what came of it."""
    neighbour, insider = attacker.make(SLEEPER), attacker.make(INSIDER)
    for session in (neighbour, insider):
        attacker.ask(session, "reset", 1).answer()
    for number, method in enumerate(("ListSessions", "EndSession", "DrainServer"), 2):
        action = value(f"{target.address} {method} {neighbour.id}")
        attacker.ask(insider, "step", number, action=action).answer()
    assert attacker.ask(neighbour, "step", 2, action=value(0)).verdict() == "answered"
    attacker.make(SLEEPER)
    return target.traces("asked")


def test_an_environment_ends_no_neighbour_and_does_not_drain_its_server() -> None:
    with attacked(INSIDER, SLEEPER) as target, target.attacker() as attacker:
        assert attack(target, attacker) == ["answered", "SCOPE_MISSING", "SCOPE_MISSING"]


def test_nor_does_it_list_sessions_where_there_are_tokens() -> None:
    with (
        Tokens("alice") as tokens,
        attacked(INSIDER, SLEEPER, tokens=tokens) as target,
        target.attacker(token=tokens["alice"]) as attacker,
    ):
        assert attack(target, attacker) == 3 * ["UNAUTHENTICATED"]
