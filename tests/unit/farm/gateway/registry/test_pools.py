"""The pools of a farm's servers choose as a search through all servers would, and do not grow."""

from __future__ import annotations

import random
from typing import Any

import pytest

from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.pools import Pools
from envwire.farm.gateway.registry.states import SUSPECT_SECONDS, Member, State
from tests.unit.farm.gateway.registry.test_registry import hello

REQUIREMENTS = [
    Requirements("a"),
    Requirements("b", library="envwire"),
    Requirements("a", labels={"gpu": "yes"}),
    Requirements("b", fingerprint="f"),
]


def rank(requirements: Requirements, member: Member) -> tuple[bool, float, int]:
    """Returns the sort key by which the server for a Make has the minimum."""
    return (
        not requirements.is_preferred(member),
        requirements.order * member.load / member.capacity,
        member.turn,
    )


def new_member(random: random.Random, number: int) -> Member:
    given = hello(
        f"server{number}",
        slots=random.randint(1, 6),
        ids=tuple(random.sample(["a", "b", "c"], random.randint(1, 3))),
        labels=random.choice([{}, {"gpu": "yes"}]),
        fingerprint=random.choice(["", "f"]),
    )
    return Member(given, given.address, 0.0)


def change(random: random.Random, member: Member) -> None:
    """Changes the values on which the choice for a Make depends."""
    name, value = random.choice(
        [
            ("active", random.randint(0, 5)),
            ("pending", random.randint(0, 2)),
            ("draining", random.random() < 0.3),
            ("connected", random.random() < 0.8),
            ("turn", random.randint(0, 9)),
        ]
    )
    setattr(member, name, value)


def searched(requirements: Requirements, members: list[Member], exclude: set[Member]) -> list[Any]:
    """Returns the ranks of all servers that could be chosen."""
    return [
        rank(requirements, each)
        for each in members
        if each.has_room and each not in exclude and requirements.matches(each)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_of_all_is_chosen(seed: int) -> None:
    rng = random.Random(seed)
    pools, members = Pools(), [new_member(rng, number) for number in range(12)]
    for member in members:
        pools.add(member)
    for _ in range(200):
        member = rng.choice(members)
        change(rng, member)
        pools.update(member)
        assert member.takes_makes(1.0) == (member.state(1.0) == State.STATE_FREE)
        if rng.random() < 0.05:
            pools.remove(member)
            members.remove(member)
            members.append(new_member(rng, rng.randrange(100, 10_000)))
            pools.add(members[-1])
        requirements, exclude = (
            rng.choice(REQUIREMENTS),
            set(rng.sample(members, rng.randint(0, 3))),
        )
        chosen = pools.choose(requirements, lambda _: True, exclude)
        ranks = searched(requirements, members, exclude)
        assert (chosen is None) == (not ranks)
        if chosen is not None:
            assert chosen in members
            assert chosen not in exclude
            assert rank(requirements, chosen) == min(ranks)


def test_a_silent_server_takes_no_makes() -> None:
    member = Member(hello("a"), "", reported_at=1.0)
    for silence in (0.0, SUSPECT_SECONDS, SUSPECT_SECONDS + 0.01):
        now = member.reported_at + silence
        assert member.takes_makes(now) == (member.state(now) == State.STATE_FREE)


def test_those_that_do_not_take_makes_are_passed_over_and_kept() -> None:
    pools, first, second = Pools(), *(Member(hello(name, ids=("a",)), "", 0.0) for name in "xy")
    for member in (first, second):
        pools.add(member)
    assert pools.choose(Requirements("a"), lambda each: each is second) is second
    assert pools.choose(Requirements("a"), lambda _: True) is first


def test_outdated_entries_do_not_pile_up() -> None:
    pools, members = Pools(), [Member(hello(str(i), ids=("a",)), "", 0.0) for i in range(3)]
    for member in members:
        pools.add(member)
    (pool,) = pools._pools.values()
    for turn in range(1000):
        members[turn % 3].turn = turn
        pools.update(members[turn % 3])
    assert len(pool._heap) <= 2 * 3 + 65
    for member in members:
        pools.remove(member)
    assert not pools._pools
    assert not pools._sizes
