"""Quotas: what counts, and from when on."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.registry.quotas import Quotas
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.client import Client
from tests.unit.farm.gateway.registry.test_registry import Farm, hello

ALICE = Client("token alice", quota=4)


def counting(name: str, **slots: int) -> Member:
    clients = {f"token {client}": count for client, count in slots.items()}
    return Member(hello(name), f"{name}:1", 0.0, clients=clients)


def test_slots_of_all_servers_count_and_those_of_dead_ones_and_of_others_do_not() -> None:
    dead = counting("c", alice=9)
    dead.dead = True
    quotas = Quotas([counting("a", alice=1, bob=7), counting("b", alice=2), dead], 0)
    assert quotas.held("token alice") == 3
    with quotas.claim(ALICE, 1):
        pass
    with (
        pytest.raises(FaultError, match="holds 3 of the 4 sessions") as caught,
        quotas.claim(ALICE, 2),
    ):
        pass
    assert caught.value.reason is Reason.CLIENT_LIMIT_REACHED
    assert caught.value.metadata == {"quota": "4", "held": "3"}


def test_what_is_claimed_counts_at_once_and_not_twice_when_it_is_granted() -> None:
    one = counting("a")
    quotas = Quotas([one], 0)
    with quotas.claim(ALICE, 3) as claim:
        assert claim is not None
        assert quotas.held("token alice") == 3
        claim.granted(one, 2)
        assert (quotas.held("token alice"), one.clients) == (3, {"token alice": 2})
        claim.given_back(one, 1)
        assert quotas.held("token alice") == 3
    assert quotas.held("token alice") == 1


def test_a_report_replaces_what_was_granted_before() -> None:
    farm = Farm()
    member = farm.registry.register(hello("a"), "a:1", 0.0)
    assert member.clients is None
    farm.registry.report(
        member, farm_pb2.ServerLoad(client_slots={"slots": {"token alice": 2}}), 0.0
    )
    assert Quotas(farm.registry.members, 0).held("token alice") == 2
    farm.registry.report(member, farm_pb2.ServerLoad(client_slots={}), 0.0)
    assert Quotas(farm.registry.members, 0).held("token alice") == 0
    again = farm.registry.register(hello("a"), "a:1", 0.0)
    assert again.clients == {}


@pytest.mark.parametrize(
    ("client", "default", "quota"),
    [
        (Client("token alice", quota=4), 9, 4),
        (Client("token alice"), 9, 9),
        (Client("token alice"), 0, 0),
        (Client("address of this machine"), 9, 0),
    ],
)
def test_whose_quota_holds(client: Client, default: int, quota: int) -> None:
    assert Quotas([], default).of(client) == quota
