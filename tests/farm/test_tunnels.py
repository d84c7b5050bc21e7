"""Servers to which the gateway cannot connect: they call the gateway, which reaches them over these calls."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import grpc
import gymnasium
import numpy as np
import pytest

from envwire.client import RemoteEnv, RemoteVectorEnv
from envwire.client._session import resuming
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2, status_pb2
from tests.conftest import SETTINGS
from tests.farm.scene import (
    ENV,
    SECONDS,
    Gateway,
    header,
    kill,
    server,
    step,
    step_until_recovered,
)
from tests.faults.network import HERE, Network, why_not
from tests.secured import write_tokens

#: Where nobody listens, as on the other side of a NAT.
NOWHERE = ("127.0.0.1:1", "127.0.0.1:2")


def behind_nat(gateway: Gateway, address: str = NOWHERE[0], **settings: Any) -> Server:
    return server(gateway, tunnel=True, advertise=address, **settings)


def await_free(gateway: Gateway, count: int) -> None:
    gateway.wait_until(lambda: list(gateway.states().values()).count("FREE") == count)


@contextlib.contextmanager
def tunnelled(count: int, **settings: Any) -> Iterator[tuple[Gateway, dict[str, Server]]]:
    """Runs a gateway and servers behind tunnels, by their addresses."""
    gateway = Gateway().start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        servers = {
            each: stack.enter_context(behind_nat(gateway, each, **settings))
            for each in NOWHERE[:count]
        }
        await_free(gateway, count)
        yield gateway, servers


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = Gateway().start()
    yield running
    running.kill()


@pytest.fixture
def two() -> Iterator[tuple[Gateway, dict[str, Server]]]:
    with tunnelled(2) as running:
        yield running


def both(gateway: Gateway, envs: int = 0, **options: Any) -> tuple[Any, Any]:
    """Makes an environment here and there, both reset."""
    if envs:
        local: Any = gymnasium.make_vec(ENV, num_envs=envs, vectorization_mode="sync")
        remote: Any = RemoteVectorEnv(gateway.target, ENV, num_envs=envs, **options)
    else:
        local, remote = gymnasium.make(ENV), RemoteEnv(gateway.target, ENV, **options)
    np.testing.assert_array_equal(remote.reset(seed=3)[0], local.reset(seed=3)[0])
    local.action_space.seed(0)
    return local, remote


def steps(count: int, *environments: Any) -> None:
    for _ in range(count):
        step(*environments)


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_server_on_the_loopback_of_another_machine_is_played() -> None:
    with Network() as network, contextlib.ExitStack() as stack:
        gateway = Gateway("--host", HERE, "--insecure", host=HERE).start()
        stack.callback(gateway.kill)
        there = server(gateway, tunnel=True, insecure=True)
        network.over_there(there.__enter__)
        stack.push(there)
        await_free(gateway, 1)
        for envs, transport in ((0, "direct"), (0, "stream"), (0, "unary"), (16, "direct")):
            local, remote = both(gateway, envs, transport=transport)
            steps(100, local, remote)
            remote.close()


@pytest.mark.parametrize("envs", [0, 16])
def test_sessions_of_a_server_that_is_killed_are_placed_anew(
    two: tuple[Gateway, dict[str, Server]], envs: int
) -> None:
    gateway, servers = two
    local, remote = both(gateway, envs, on_lost="replay")
    steps(20, local, remote)
    busy = max(gateway.servers().values(), key=lambda each: each.active_sessions)
    kill(servers[busy.address])
    step_until_recovered(local, remote)
    steps(20, local, remote)
    remote.close()


@pytest.mark.parametrize("envs", [0, 16])
def test_stepping_goes_on_when_the_gateway_is_back(
    two: tuple[Gateway, dict[str, Server]], envs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resuming, "_REFUSED_SECONDS", 0.0)  # the gateway is gone for longer
    gateway, _ = two
    local, remote = both(gateway, envs, on_lost="replay")
    steps(20, local, remote)
    gateway.kill()
    stepping = threading.Thread(target=steps, args=(20, local, remote))
    stepping.start()
    gateway.start()
    stepping.join(30.0)
    assert not stepping.is_alive()
    assert not remote.connection_stats.lost
    remote.close()


def test_each_of_two_gateways_has_a_tunnel_of_its_own() -> None:
    first, second = Gateway().start(), Gateway().start()
    with contextlib.ExitStack() as stack:
        stack.callback(second.kill)
        stack.enter_context(behind_nat(first, join=[first.target, second.target]))
        await_free(first, 1)
        await_free(second, 1)
        local, remote = both(second)
        made = first.make()
        first.kill()
        steps(50, local, remote)
        close = pb.CloseRequest(header=header(made), sequence=1)
        second.environments.Close(close)
        remote.close()


def test_clients_are_told_to_stay_at_the_gateway() -> None:
    with tunnelled(1) as (gateway, servers):
        made = gateway.make()
        assert not made.address
        [address] = made.direct.addresses
        assert address.startswith(":"), "a port of the gateway"
        assert gateway.locate(made.session_id) == "ALIVE"
        located = gateway.farm.Locate(farm_pb2.LocateRequest(session_id=made.session_id))
        assert not located.address
        with pytest.raises(grpc.RpcError, match="1 free slots"):
            gateway.farm.Allocate(farm_pb2.AllocateRequest(count=1, env_id=ENV))
        info = gateway.environments.GetServerInfo(pb.GetServerInfoRequest())
        assert "tickets" not in info.capabilities  # clients need not try
        (status,) = gateway.servers().values()
        assert status.tunnelled
        kill(servers[NOWHERE[0]])
        gateway.wait_until(lambda: gateway.locate(made.session_id) == "DEAD")


def test_allocations_take_the_servers_that_clients_reach() -> None:
    with tunnelled(1) as (gateway, _), server(gateway) as near:
        gateway.await_servers(near)
        answer = gateway.farm.Allocate(farm_pb2.AllocateRequest(count=8, env_id=ENV))
        assert [each.address for each in answer.allocations] == [near.target]


def allocate(gateway: Gateway, count: int) -> list[farm_pb2.Allocation]:
    request = farm_pb2.AllocateRequest(count=count, env_id=ENV, relayed=True)
    return list(gateway.farm.Allocate(request, timeout=SECONDS).allocations)


def make_in(gateway: Gateway, slots: farm_pb2.Allocation, request_id: bytes = b"") -> Any:
    request = pb.MakeRequest(env_id=ENV, request_id=request_id)
    metadata = (("envwire-reservation-bin", slots.reservation_id),)
    return gateway.environments.Make(request, timeout=SECONDS, metadata=metadata)


def test_allocations_of_clients_that_make_at_the_gateway_take_all_servers() -> None:
    with tunnelled(2, max_sessions=4) as (gateway, _), server(gateway, max_sessions=4) as near:
        gateway.await_servers(near)
        allocated = allocate(gateway, 12)
        assert sorted(each.count for each in allocated) == [4, 4, 4]
        assert sorted(each.address for each in allocated) == ["", "", near.target]
        behind = [each for each in allocated if not each.address]
        assert not any(each.ticket for each in behind)
        with pytest.raises(grpc.RpcError, match="no room"):
            gateway.make()
        made = [make_in(gateway, each) for each in behind for _ in range(each.count)]
        runs = [each.session_id.rpartition("-")[2] for each in made]
        assert runs == [each.incarnation for each in behind for _ in range(4)]
        for each in made:
            reset = pb.ResetRequest(header=header(each), sequence=1)
            assert gateway.environments.Reset(reset).HasField("observation")


def test_each_allocated_slot_is_for_one_make_of_its_client_and_a_repeat_of_it() -> None:
    with tunnelled(1, max_sessions=8) as (gateway, _):
        [slots] = allocate(gateway, 2)
        first, again = (make_in(gateway, slots, b"i" * 16) for _ in range(2))
        assert again.session_id == first.session_id
        assert make_in(gateway, slots).session_id != first.session_id
        with pytest.raises(grpc.RpcError, match="no slot behind this gateway"):
            make_in(gateway, slots)
        unknown = farm_pb2.Allocation(reservation_id=b"u" * 16)
        with pytest.raises(grpc.RpcError, match="no slot behind this gateway"):
            make_in(gateway, unknown)


def test_a_vector_environment_takes_servers_behind_the_gateway_when_the_others_are_full() -> None:
    with tunnelled(2, max_sessions=8) as (gateway, _), server(gateway, max_sessions=8) as near:
        gateway.await_servers(near)
        local: Any = gymnasium.make_vec(ENV, num_envs=24, vectorization_mode="sync")
        remote: Any = RemoteVectorEnv(gateway.target, ENV, num_envs=24, sessions=24)
        gateway.wait_until(
            lambda: [each.active_sessions for each in gateway.servers().values()] == [8, 8, 8]
        )
        np.testing.assert_array_equal(remote.reset(seed=3)[0], local.reset(seed=3)[0])
        local.action_space.seed(0)
        steps(20, local, remote)
        remote.close()


def test_a_server_that_drains_finishes_its_sessions() -> None:
    with tunnelled(1, drain_timeout=60.0) as (gateway, servers):
        local, remote = both(gateway)
        os.kill(servers[NOWHERE[0]].pid, signal.SIGTERM)
        gateway.wait_until(lambda: gateway.states() == {NOWHERE[0]: "DRAINING"})
        steps(50, local, remote)
        assert not remote.connection_stats.lost
        remote.close()
        gateway.wait_until(lambda: not gateway.states())


class FakeServer:
    """A registration of a fake server, and the calls of its tunnel.

    Args:
        gateway: The gateway with which it registers.
        token: What it shows.
        name: Its id, and its run.
        dials_channels: Whether it obeys channel orders.

    Attributes:
        orders: What the gateway sends to it.
    """

    def __init__(
        self, gateway: Gateway, token: str = "", name: str = "fake", *, dials_channels: bool = False
    ) -> None:
        self._gateway = gateway
        self._shown = (("authorization", f"Bearer {token}"),) if token else ()
        hello = farm_pb2.ServerHello(
            server_id=name,
            address=f"{name}:1",
            info=pb.GetServerInfoResponse(incarnation=name, max_sessions=1000),
            environments=[
                pb.EnvironmentListing(library="gymnasium", spec=specs_pb2.EnvSpec(id=ENV))
            ],
            tunnelled=True,
            dials_channels=dials_channels,
        )
        self._reports: SimpleQueue[farm_pb2.RegisterRequest] = SimpleQueue()
        self._left = threading.Event()
        self.orders = gateway.farm.Register(self._messages(hello), metadata=self._shown)
        self.key: bytes = next(self.orders).tunnel_key

    def _messages(self, hello: farm_pb2.ServerHello) -> Iterator[farm_pb2.RegisterRequest]:
        """Yields the hello, then reports: a server that does not report is dead after 4 s."""
        yield farm_pb2.RegisterRequest(hello=hello)
        while not self._left.is_set():
            try:
                yield self._reports.get(timeout=0.5)
            except Empty:
                yield farm_pb2.RegisterRequest(load=farm_pb2.ServerLoad())

    def refuse(self, key: bytes, why: status_pb2.ErrorStatus | None) -> None:
        """Answers a channel order."""
        answer = farm_pb2.ChannelAnswer(key=key, error=why)
        self._reports.put(farm_pb2.RegisterRequest(channel_answer=answer))

    def call(self, key: bytes | None = None, shown: Any = None) -> Any:
        """Opens the tunnel; nothing is sent over it."""
        key = self.key if key is None else key
        metadata = (*(self._shown if shown is None else shown), ("envwire-tunnel-bin", key))
        nothing: SimpleQueue[Any] = SimpleQueue()
        return self._gateway.farm.Tunnel(
            iter(nothing.get, None), metadata=metadata, timeout=SECONDS
        )

    def leave(self) -> None:
        self._left.set()
        self.orders.cancel()


def refusal(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as refused:
        next(call)
    code: grpc.StatusCode = refused.value.code()
    return code


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    from envwire.server._auth.scopes import Scope

    scopes = {"agent": [Scope.PLAY], "node": [Scope.JOIN], "another": [Scope.JOIN]}
    return write_tokens(tmp_path / "tokens", scopes)


def test_a_tunnel_takes_scope_join_and_the_key_of_ones_own_registration(
    tmp_path: Path, tokens: dict[str, str]
) -> None:
    gateway = Gateway("--tokens", str(tmp_path / "tokens")).start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        fake = FakeServer(gateway, tokens["node"])
        other = FakeServer(gateway, tokens["another"], "other")
        assert len(fake.key) == 16
        assert fake.key != other.key

        def shows(name: str) -> Any:
            return (("authorization", f"Bearer {tokens[name]}"),)

        denied, unknown = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED
        assert refusal(fake.call(shown=shows("agent"))) == denied
        assert refusal(fake.call(shown=())) == unknown
        assert refusal(fake.call(key=b"")) == unknown
        assert refusal(fake.call(key=secrets.token_bytes(16))) == unknown
        assert refusal(fake.call(key=other.key)) == unknown
        fake.leave()
        gateway.wait_until(lambda: refusal(fake.call()) == unknown)


def test_a_gateway_that_knows_no_tunnels_is_left_again() -> None:
    registered: SimpleQueue[bool] = SimpleQueue()

    class Outdated(farm_pb2_grpc.FarmServiceServicer):
        def Register(self, requests: Iterator[farm_pb2.RegisterRequest], context: Any) -> Any:
            next(requests)
            yield farm_pb2.RegisterResponse(incarnation="outdated")
            registered.put(next(requests, None) is None)

    outdated = grpc.server(ThreadPoolExecutor(2))
    farm_pb2_grpc.add_FarmServiceServicer_to_server(Outdated(), outdated)
    port = outdated.add_insecure_port("127.0.0.1:0")
    outdated.start()
    try:
        with Server([ENV], join=[f"127.0.0.1:{port}"], tunnel=True):
            assert registered.get(timeout=SECONDS), "it said hello, and reported no load"
    finally:
        outdated.stop(None).wait()


def make_soon(gateway: Gateway) -> Any:
    return gateway.environments.Make.future(pb.MakeRequest(env_id=ENV), timeout=20.0)


def test_a_connection_goes_over_the_last_call_of_its_server_and_ends_with_it(
    gateway: Gateway,
) -> None:
    fake = FakeServer(gateway)
    first = fake.call()
    making = make_soon(gateway)
    assert next(first).data.startswith(b"PRI * HTTP/2.0")  # the gateway connects, and speaks first
    second = fake.call()
    assert refusal(first) == grpc.StatusCode.UNAVAILABLE
    assert next(second).data.startswith(b"PRI * HTTP/2.0")  # it connects again
    fake.leave()
    assert refusal(second) == grpc.StatusCode.UNAVAILABLE
    with pytest.raises(grpc.RpcError):
        making.result()


def test_other_processes_of_the_gateways_machine_get_no_connection(
    gateway: Gateway,
) -> None:
    fake = FakeServer(gateway)
    call = fake.call()
    own = {os.path.realpath(fd) for fd in Path(f"/proc/{gateway.process.pid}/fd").iterdir()}
    rows = map(str.split, Path("/proc/net/unix").read_text(encoding="ascii").splitlines())
    (end,) = (
        path
        for *_, inode, path in rows
        if path.startswith("@envwire-tunnel-") and any(f"socket:[{inode}]" in fd for fd in own)
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as intruder:
        intruder.settimeout(SECONDS)
        intruder.connect(end.replace("@", "\0"))
        assert intruder.recv(1) == b""
    making = make_soon(gateway)
    assert next(call).data.startswith(b"PRI * HTTP/2.0"), "its own, nothing of the intruder's"
    fake.leave()
    with pytest.raises(grpc.RpcError):
        making.result()


def resident(gateway: Gateway, line: str = "VmHWM:") -> int:
    """Returns the most memory that a gateway used, in bytes."""
    status = Path(f"/proc/{gateway.process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(each.split()[1]) * 1024 for each in status if each.startswith(line))


def test_what_a_client_does_not_read_is_bounded_and_keeps_nobody_waiting(
    gateway: Gateway,
) -> None:
    imports = [*SETTINGS["imports"], "tests.farm.large_env"]
    with behind_nat(gateway, imports=imports):
        await_free(gateway, 1)
        local, remote = both(gateway)
        large = RemoteEnv(gateway.target, "tests/Large-v0", transport="stream")
        assert large.reset(seed=1)[0].nbytes == 50_000_000
        at_first = resident(gateway)
        requests: SimpleQueue[Any] = SimpleQueue()
        replies = gateway.environments.Interact(iter(requests.get, None))
        requests.put(pb.InteractRequest(make=pb.MakeRequest(env_id="tests/Large-v0")))
        unread = next(replies).make
        for number in range(1, 21):  # of which nobody reads a reply
            request = pb.ResetRequest(header=header(unread), sequence=number)
            requests.put(pb.InteractRequest(reset=request))
        for number in range(1, 6):
            assert large.step(0)[0][0] == number
            steps(10, local, remote)
        assert resident(gateway) - at_first < 300_000_000  # 25 replies are 1.25 GB
        replies.cancel()
        large.close()
        remote.close()
