"""Environments made through a gateway: spread over its servers, stepped there, or relayed for other clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import grpc
import gymnasium
import numpy as np
import pytest

import envwire.client.gymnasium
from envwire.client import CapacityError, RemoteEnv
from envwire.envs.error import NameNotFound
from envwire.farm.v1 import farm_pb2
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from tests.farm.scene import ENV, Gateway, farm, header

assert envwire.client.gymnasium


@pytest.fixture(scope="module")
def four() -> Iterator[tuple[Gateway, list[Server]]]:
    with farm(4, max_sessions=64) as running:
        yield running


@pytest.fixture
def gateway(four: tuple[Gateway, list[Server]]) -> Gateway:
    return four[0]


def await_idle(gateway: Gateway) -> None:
    gateway.wait_until(lambda: not any(each.active_sessions for each in gateway.servers().values()))


def test_a_hundred_environments_are_spread_evenly(gateway: Gateway) -> None:
    made = [gateway.make() for _ in range(100)]
    spread = Counter(each.address for each in made)
    for each in made:
        gateway.environments.Close(pb.CloseRequest(header=header(each), sequence=1))
    assert len(spread) == 4
    assert all(abs(count - 25) <= 1 for count in spread.values())
    await_idle(gateway)


def test_the_farm_lists_and_describes_what_its_servers_can(gateway: Gateway) -> None:
    listed = gateway.environments.ListEnvironments(pb.ListEnvironmentsRequest())
    ids = [each.spec.id for each in listed.environments]
    assert ENV in ids
    assert len({(each.library, each.spec.id) for each in listed.environments}) == len(ids)
    info = gateway.environments.GetServerInfo(pb.GetServerInfoRequest())
    assert info.max_sessions == 4 * 64
    assert info.incarnation
    assert not info.draining
    assert info.step_timeout.seconds == 20


@pytest.mark.parametrize("transport", ["unary", "stream", "direct", "direct-tcp"])
def test_clients_go_on_at_the_server(four: tuple[Gateway, list[Server]], transport: str) -> None:
    gateway, _ = four
    with gymnasium.make(ENV) as local:
        expected = local.reset(seed=5)[0], local.step(1)[0]
    env = RemoteEnv(gateway.target, ENV, transport=transport)
    np.testing.assert_array_equal(env.reset(seed=5)[0], expected[0])
    np.testing.assert_array_equal(env.step(1)[0], expected[1])
    env.close()


def test_a_vector_environment_is_that_of_one_machine(gateway: Gateway) -> None:
    local = gymnasium.make_vec(ENV, num_envs=16, vectorization_mode="sync")
    remote = gymnasium.make_vec("envwire/Remote-v0", target=gateway.target, env_id=ENV, num_envs=16)
    np.testing.assert_array_equal(local.reset(seed=3)[0], remote.reset(seed=3)[0])
    local.action_space.seed(0)
    for _ in range(50):
        actions = local.action_space.sample()
        for ours, theirs in zip(remote.step(actions)[:4], local.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)
    local.close()
    remote.close()


def test_a_client_that_stays_at_the_gateway_is_relayed(gateway: Gateway) -> None:
    made = gateway.make()
    reset = pb.ResetRequest(header=header(made), sequence=1, seed=values_pb2.Value(int_value=7))
    first = gateway.environments.Reset(reset)
    step = pb.StepRequest(header=header(made), sequence=2, action=values_pb2.Value(int_value=1))
    second = gateway.environments.Step(step)
    assert first.observation != second.observation
    assert gateway.environments.Step(step) == second  # a repeat, answered by the same server
    with pytest.raises(grpc.RpcError) as refused:
        gateway.environments.Step(pb.StepRequest(header=header(made), sequence=9))
    assert "grpc-status-details-bin" in dict(refused.value.trailing_metadata())
    lease = gateway.environments.RenewLease(pb.RenewLeaseRequest(header=header(made))).lease
    assert lease.seconds == made.lease.seconds
    gateway.environments.Close(pb.CloseRequest(header=header(made), sequence=3))


def test_one_stream_may_have_sessions_on_several_servers(gateway: Gateway) -> None:
    await_idle(gateway)
    requests: SimpleQueue[pb.InteractRequest | None] = SimpleQueue()
    replies = gateway.environments.Interact(iter(requests.get, None))

    def ask(**request: Any) -> pb.InteractResponse:
        requests.put(pb.InteractRequest(**request))
        reply: pb.InteractResponse = next(replies)
        return reply

    made = [ask(make=pb.MakeRequest(env_id=ENV)).make for _ in range(4)]
    assert len({each.address for each in made}) == 4
    for each in made:
        assert ask(reset=pb.ResetRequest(header=header(each), sequence=1)).HasField("reset")
    unknown = ask(make=pb.MakeRequest(env_id="Nothing-v0")).error
    assert unknown.code == grpc.StatusCode.NOT_FOUND.value[0]
    for each in made:
        assert ask(close=pb.CloseRequest(header=header(each), sequence=2)).HasField("close")
    requests.put(None)
    assert list(replies) == []


def test_a_repeated_make_is_one_session(gateway: Gateway) -> None:
    made = [gateway.make(request_id=b"0123456789abcdef") for _ in range(3)]
    assert len({each.session_id for each in made}) == 1
    gateway.environments.Close(pb.CloseRequest(header=header(made[0]), sequence=1))


def test_an_unknown_id_is_what_it_is_at_a_server(gateway: Gateway) -> None:
    with pytest.raises(NameNotFound, match="is not served here"):
        RemoteEnv(gateway.target, "CartPol-v1")


def test_an_allocation_names_servers_with_room(gateway: Gateway) -> None:
    await_idle(gateway)
    answer = gateway.farm.Allocate(farm_pb2.AllocateRequest(count=8, env_id=ENV))
    assert sorted(each.count for each in answer.allocations) == [2, 2, 2, 2]
    assert {each.address for each in answer.allocations} == set(gateway.servers())
    with pytest.raises(grpc.RpcError, match="4000 free slots"):
        gateway.farm.Allocate(farm_pb2.AllocateRequest(count=4000, env_id=ENV))


def test_a_full_farm_refuses() -> None:
    with farm(1, max_sessions=1) as (gateway, _):
        gateway.make()
        with pytest.raises(CapacityError, match="no room in the farm"):
            RemoteEnv(gateway.target, ENV)


def test_makes_wait_for_room_across_the_farm() -> None:
    with farm(2, "--queue", "8", max_sessions=1) as (gateway, _):
        made = [gateway.make(), gateway.make()]
        waiting = gateway.environments.Make.future(pb.MakeRequest(env_id=ENV), timeout=30.0)
        gateway.wait_until(
            lambda: gateway.farm.ListServers(farm_pb2.ListServersRequest()).waiting == 1
        )
        gateway.environments.Close(pb.CloseRequest(header=header(made[1]), sequence=1))
        assert waiting.result().address == made[1].address


def test_a_gateway_that_relays_names_no_server() -> None:
    with farm(2, "--relay") as (gateway, _):
        made = gateway.make()
        assert not made.address
        assert [each for each in made.direct.addresses if not each.startswith(":")] == [], (
            "the gateway's own host"
        )
        assert gateway.locate(made.session_id) == "ALIVE"
        with pytest.raises(grpc.RpcError, match="1 free slots"):
            gateway.farm.Allocate(farm_pb2.AllocateRequest(count=1, env_id=ENV))
        env = RemoteEnv(gateway.target, ENV)
        env.reset(seed=1)
        env.step(0)
        env.close()
