"""Servers and gateways of a farm are killed, stopped and restarted."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import grpc
import gymnasium
import numpy as np
import pytest

from envwire.client import RemoteEnv, RemoteVectorEnv
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from tests.farm.scene import ENV, SECONDS, Gateway, farm, header, kill, step_until_recovered


@pytest.fixture
def two() -> Iterator[tuple[Gateway, list[Server]]]:
    with farm(2) as running:
        yield running


def server_at(servers: list[Server], address: str) -> Server:
    return next(each for each in servers if each.target == address)


def busiest(gateway: Gateway) -> str:
    return max(gateway.servers().values(), key=lambda each: each.active_sessions).address


def step_until_lost(local: Any, remote: Any, servers: list[Server], address: str) -> None:
    """Kills a server and steps both until the loss was noticed and recovered from: they give the same."""
    kill(server_at(servers, address))
    step_until_recovered(local, remote)


def test_sessions_of_a_server_that_is_killed_are_placed_anew(
    two: tuple[Gateway, list[Server]],
) -> None:
    gateway, servers = two
    local = gymnasium.make("Pendulum-v1")
    remote = RemoteEnv(gateway.target, "Pendulum-v1", on_lost="replay")
    np.testing.assert_array_equal(remote.reset(seed=3)[0], local.reset(seed=3)[0])
    local.action_space.seed(0)
    gateway.wait_until(lambda: any(each.active_sessions for each in gateway.servers().values()))
    step_until_lost(local, remote, servers, busiest(gateway))
    remote.close()
    local.close()


@pytest.mark.long
def test_a_vector_environment_survives_its_servers(two: tuple[Gateway, list[Server]]) -> None:
    gateway, servers = two
    local = gymnasium.make_vec(ENV, num_envs=8, vectorization_mode="sync")
    remote = RemoteVectorEnv(gateway.target, ENV, num_envs=8, sessions=4, on_lost="replay")
    np.testing.assert_array_equal(local.reset(seed=1)[0], remote.reset(seed=1)[0])
    local.action_space.seed(0)
    gateway.wait_until(lambda: any(each.active_sessions for each in gateway.servers().values()))
    step_until_lost(local, remote, servers, busiest(gateway))
    local.close()
    remote.close()


def test_stepping_goes_on_without_the_gateway_and_makes_once_it_is_back(
    two: tuple[Gateway, list[Server]],
) -> None:
    gateway, servers = two
    env = RemoteEnv(gateway.target, ENV)
    env.reset(seed=1)
    gateway.kill()
    for _ in range(5):
        env.step(0)
    gateway.start()
    made = gateway.make()  # waits until the servers have registered again
    assert made.address in {each.target for each in servers}
    env.step(0)
    env.close()


def test_a_relayed_session_outlives_the_gateway(two: tuple[Gateway, list[Server]]) -> None:
    gateway, _ = two
    made = gateway.make()
    gateway.environments.Reset(pb.ResetRequest(header=header(made), sequence=1))
    gateway.kill()
    gateway.start()
    gateway.environments.Render(pb.RenderRequest(header=header(made), sequence=2), timeout=30.0)


def test_a_gateway_that_was_restarted_pronounces_nobody_dead(
    two: tuple[Gateway, list[Server]],
) -> None:
    gateway, servers = two
    made = gateway.make()
    gateway.kill()
    gateway.start()
    said = {gateway.locate(made.session_id, silent=True)}
    gateway.wait_until(
        lambda: not said.add(gateway.locate(made.session_id, silent=True)) and "ALIVE" in said
    )
    assert "DEAD" not in said
    gateway.await_servers(*servers)


@pytest.mark.long
def test_a_gateway_that_stood_still_pronounces_nobody_dead(
    two: tuple[Gateway, list[Server]],
) -> None:
    gateway, servers = two
    made = gateway.make()
    gateway.signal(signal.SIGSTOP)
    timer = threading.Timer(20.0, gateway.signal, [signal.SIGCONT])
    timer.start()
    said: set[str] = {
        gateway.locate(made.session_id, silent=True)
    }  # its answer comes once it continues
    assert gateway.make().address in {each.target for each in servers}
    gateway.wait_until(
        lambda: not said.add(gateway.locate(made.session_id, silent=True)) and "ALIVE" in said
    )
    timer.join()
    gateway.await_servers(*servers)
    assert said <= {"ALIVE", "UNKNOWN"}


def test_a_registration_that_breaks_says_nothing_about_sessions() -> None:
    gateway = Gateway().start()
    hello = farm_pb2.ServerHello(
        server_id="far",
        address="127.0.0.1:1",
        info=pb.GetServerInfoResponse(incarnation="r", max_sessions=1),
    )
    requests: SimpleQueue[farm_pb2.RegisterRequest | None] = SimpleQueue()
    requests.put(farm_pb2.RegisterRequest(hello=hello))
    with grpc.insecure_channel(gateway.target) as channel:
        farm_service = farm_pb2_grpc.FarmServiceStub(channel)
        call = farm_service.Register(iter(requests.get, None), timeout=SECONDS)
        next(call)
        call.cancel()
    said: set[str] = set()
    gateway.wait_until(lambda: said.add(gateway.locate("abc-r")) or "SUSPECT" in said)
    assert "DEAD" not in said
    requests.put(None)
    gateway.kill()


@pytest.mark.long
def test_a_server_that_is_stopped_gets_no_makes_is_dead_and_comes_back(
    two: tuple[Gateway, list[Server]],
) -> None:
    gateway, servers = two
    made = {each.address: each for each in (gateway.make(), gateway.make())}
    stopped, other = servers[0], servers[1]

    os.kill(stopped.pid, signal.SIGSTOP)
    gateway.wait_until(lambda: gateway.states()[stopped.target] == "SUSPECT")
    assert {gateway.make().address for _ in range(4)} == {other.target}
    gateway.wait_until(lambda: gateway.locate(made[stopped.target].session_id) == "DEAD")
    assert gateway.locate(made[other.target].session_id) == "ALIVE"
    with pytest.raises(grpc.RpcError) as lost:
        gateway.environments.Reset(
            pb.ResetRequest(header=header(made[stopped.target]), sequence=1), timeout=30.0
        )
    assert lost.value.code() is grpc.StatusCode.ABORTED
    os.kill(stopped.pid, signal.SIGCONT)
    gateway.wait_until(lambda: gateway.states()[stopped.target] == "FREE")
    assert gateway.locate(made[stopped.target].session_id) == "ALIVE"


@pytest.mark.long
def test_a_make_under_way_to_a_server_that_stops_is_sent_to_another(
    two: tuple[Gateway, list[Server]],
) -> None:

    gateway, servers = two
    os.kill(servers[0].pid, signal.SIGSTOP)
    try:
        made = [
            gateway.environments.Make.future(pb.MakeRequest(env_id=ENV), timeout=30.0)
            for _ in range(2)
        ]
        assert {each.result().address for each in made} == {servers[1].target}
    finally:
        os.kill(servers[0].pid, signal.SIGCONT)


def test_a_draining_server_gets_no_makes_and_leaves() -> None:
    with farm(2, drain_timeout=60.0) as (gateway, servers):
        made = {each.address: each for each in (gateway.make(), gateway.make())}
        draining = servers[0]

        os.kill(draining.pid, signal.SIGTERM)
        gateway.wait_until(lambda: gateway.states()[draining.target] == "DRAINING")
        others = [gateway.make() for _ in range(3)]
        assert {each.address for each in others} == {servers[1].target}
        last = made[draining.target]
        gateway.environments.Close(pb.CloseRequest(header=header(last), sequence=1))
        gateway.wait_until(lambda: draining.target not in gateway.states())
        assert gateway.locate(last.session_id) == "DEAD"
        for each in (*others, made[servers[1].target]):
            gateway.environments.Close(pb.CloseRequest(header=header(each), sequence=1))
