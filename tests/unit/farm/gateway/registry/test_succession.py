"""Ids and incarnations of live servers cannot be taken over; dead servers can be replaced."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import DEAD_SECONDS, SUSPECT_SECONDS, Liveness, Member
from envwire.farm.gateway.registry.succession import DuplicateServerError
from tests.unit.farm.gateway.registry.test_registry import hello


class Farm:
    """A registry in which a server "a" of the owner "node" is registered, at a:1."""

    def __init__(self) -> None:
        self.registry = Registry(0.0)
        self.first = self.add()

    def add(
        self,
        name: str = "a",
        address: str = "a:1",
        owner: str = "node",
        now: float = 0.0,
        **more: Any,
    ) -> Member:
        return self.registry.register(hello(name, **more), address, now, owner)

    def is_first(self) -> bool:
        found = self.registry.owner(f"abc-{self.first.incarnation}")
        return found is self.first and not self.first.dead


@pytest.fixture
def farm() -> Farm:
    return Farm()


@pytest.mark.parametrize(
    "other",
    [
        {"run": "2"},
        {"run": "2", "address": "b:1"},
        {"run": "2", "owner": "another"},
        {"address": "b:1"},
        {"owner": "another"},
    ],
    ids=str,
)
def test_a_server_that_lives_is_not_replaced(farm: Farm, other: dict[str, Any]) -> None:
    with pytest.raises(DuplicateServerError):
        farm.add(**other)
    assert farm.is_first()


@pytest.mark.parametrize("dead", [False, True])
def test_an_incarnation_is_one_servers_even_when_that_is_dead(farm: Farm, dead: bool) -> None:
    if dead:
        farm.registry.leave(farm.first, 0.0)
    other = hello("b")
    other.info.incarnation = farm.first.incarnation
    with pytest.raises(DuplicateServerError, match="incarnation"):
        farm.registry.register(other, "b:1", 0.0, "node")


@pytest.mark.parametrize("other", [{"address": "b:1"}, {"owner": "another"}], ids=str)
def test_a_silent_server_is_replaced_only_from_its_own_address(
    farm: Farm, other: dict[str, Any]
) -> None:
    farm.registry.disconnect(farm.first, 0.0)
    with pytest.raises(DuplicateServerError, match="lives"):
        farm.add(run="2", **other)
    assert farm.is_first()
    farm.add(run="2")
    assert farm.first.dead


def test_a_server_that_vanished_can_be_restarted_in_place_while_its_connection_seems_open(
    farm: Farm,
) -> None:
    for tick in range(1, 11):
        farm.registry.sweep(tick * SUSPECT_SECONDS / 8)
    farm.add(run="2", now=SUSPECT_SECONDS * 1.25)
    assert farm.first.dead


def test_a_dead_servers_id_is_free(farm: Farm) -> None:
    for tick in range(1, 9):
        farm.registry.sweep(tick * DEAD_SECONDS / 8)
    farm.registry.probed(farm.first, False, DEAD_SECONDS)
    second = farm.add(run="2", address="b:1", owner="another", now=DEAD_SECONDS)
    assert farm.registry.locate(f"abc-{second.incarnation}", DEAD_SECONDS) == (
        Liveness.LIVENESS_ALIVE,
        "b:1",
    )


def test_a_run_whose_connection_broke_may_come_back_from_another_address(farm: Farm) -> None:
    farm.registry.disconnect(farm.first, 0.0)
    again = farm.add(address="b:1")
    assert farm.registry.owner(f"abc-{farm.first.incarnation}") is again
