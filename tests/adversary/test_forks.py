"""Copies of copies work like the first one, after any number of generations."""

from __future__ import annotations

import pytest

from tests.adversary.client import Attacker
from tests.adversary.ledger import balanced, descriptors_of
from tests.adversary.messages import Session, value
from tests.adversary.servers import Target, attacked

SLEEPER = "adversary/Sleeper-v0"


def copy(attacker: Attacker, session: Session) -> Session:
    answer = attacker.begin("Make", session.copied()).answer()
    return Session(answer, attacker.target)


def descend(attacker: Attacker, session: Session, generations: int) -> Session:
    """Copies a session, closes it, copies the copy, and so on."""
    for _ in range(generations):
        child = copy(attacker, session)
        attacker.ask(session, "close", 1).verdict()
        session = child
    return session


def descriptors(target: Target, attacker: Attacker, session: Session) -> int:
    info = attacker.ask(session, "reset", 1).answer().info
    pid = next(entry.value.int_value for entry in info.entries if entry.name == "pid")
    assert pid in target.processes()
    return descriptors_of(pid)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("generations", [160, pytest.param(1000, marks=pytest.mark.long)])
def test_the_last_generation_lives(generations: int) -> None:
    with attacked(SLEEPER) as target, balanced(target), target.attacker() as attacker:
        last = descend(attacker, attacker.make(SLEEPER), generations)
        attacker.ask(last, "reset", 1).answer()
        assert attacker.ask(last, "step", 2, action=value(0)).verdict() == "answered"
        attacker.ask(last, "close", 3).answer()


def test_a_generation_has_no_more_descriptors_than_the_one_before() -> None:
    with attacked(SLEEPER) as target, target.attacker() as attacker:
        early = descend(attacker, attacker.make(SLEEPER), 2)
        copied = copy(attacker, early)
        had = descriptors(target, attacker, early)
        late = descend(attacker, copied, 20)
        assert descriptors(target, attacker, late) <= had + 2
