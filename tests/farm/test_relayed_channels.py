"""Direct channels through the gateway, to servers that only dial out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from envwire.client import RemoteEnv, SessionLostError, UnauthenticatedError, aio
from envwire.client._session import resuming
from envwire.codec import Reason
from envwire.codec.errors.statuses import reason_of
from envwire.conformance.raw.direct_link import frame
from envwire.server import Server
from envwire.server._front.hello_frames import RELAY_PREAMBLE
from envwire.v1 import direct_pb2, status_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import HEADER, PREAMBLE
from tests.conftest import SETTINGS
from tests.farm.scene import ENV, SECONDS, Gateway, free_port, header, kill, server
from tests.farm.test_tunnels import NOWHERE, FakeServer, await_free, behind_nat, both, steps
from tests.faults.network import HERE, Network, why_not
from tests.secured import certificates, write_tokens

TCP = {"transport": "direct-tcp"}  # which falls back to nothing


@pytest.fixture(scope="module")
def farm() -> Iterator[Gateway]:
    """A gateway, and a server behind NAT."""
    imports = [*SETTINGS["imports"], "tests.farm.large_env"]
    gateway = Gateway().start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        stack.enter_context(behind_nat(gateway, imports=imports))
        await_free(gateway, 1)
        yield gateway


@contextlib.contextmanager
def fixed_port(**settings: Any) -> Iterator[tuple[Gateway, Server]]:
    """Runs a gateway whose direct port stays the same, and a server behind NAT."""
    gateway = Gateway("--direct-port", str(free_port())).start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        there = stack.enter_context(behind_nat(gateway, **settings))
        await_free(gateway, 1)
        yield gateway, there


def direct_port(made: pb.MakeResponse) -> int:
    (address,) = made.direct.addresses
    return int(address.removeprefix(":"))


def dial(made: pb.MakeResponse) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", direct_port(made)), SECONDS)
    connection.settimeout(SECONDS)
    return connection


def greet(connection: socket.socket, hello: direct_pb2.HelloRequest) -> direct_pb2.HelloResponse:
    connection.sendall(PREAMBLE + frame(hello))
    length, _, _ = HEADER.unpack(connection.recv(HEADER.size, socket.MSG_WAITALL))
    return direct_pb2.HelloResponse.FromString(connection.recv(length, socket.MSG_WAITALL))


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("envs", [0, 16])
def test_steps_are_those_of_a_local_environment(farm: Gateway, envs: int) -> None:
    local, remote = both(farm, envs, **TCP)
    steps(100, local, remote)
    remote.close()


def test_an_asyncio_environment_and_steps_ahead(farm: Gateway) -> None:
    async def play() -> Any:
        async with await aio.RemoteEnv.make(farm.target, ENV, **TCP) as env:
            await env.reset(seed=3)
            return [each[0] async for each in env.step_ahead([0, 1] * 4)]

    local = gymnasium.make(ENV)
    local.reset(seed=3)
    np.testing.assert_array_equal(
        asyncio.run(play()), [local.step(action)[0] for action in [0, 1] * 4]
    )


def test_frames_of_any_size_pass(farm: Gateway) -> None:
    with contextlib.closing(RemoteEnv(farm.target, "tests/Large-v0", **TCP)) as env:
        assert env.reset(seed=1)[0].nbytes == 50_000_000
        for number in range(1, 4):
            assert env.step(0)[0][0] == number


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_server_on_the_loopback_of_another_machine_connects_to_the_gateway() -> None:
    with Network() as network, contextlib.ExitStack() as stack:
        gateway = Gateway(
            "--host", HERE, "--insecure", "--direct-port", str(free_port()), host=HERE
        ).start()
        stack.callback(gateway.kill)
        there = server(gateway, tunnel=True, insecure=True)
        network.over_there(there.__enter__)
        stack.push(there)
        await_free(gateway, 1)
        local, remote = both(gateway, **TCP)
        steps(50, local, remote)
        network.cut()
        threading.Timer(4.0, network.mend).start()
        steps(5, local, remote)
        assert not remote.connection_stats.lost
        remote.close()


def test_with_tls_and_tokens(tmp_path: Path) -> None:
    from envwire.server._auth.scopes import Scope

    tokens = write_tokens(tmp_path / "tokens", {"agent": [Scope.PLAY], "node": [Scope.JOIN]})
    (tmp_path / "node").write_text(tokens["node"])
    files = certificates()
    ca = str(files.path("ca"))
    options = ("--tls-cert", str(files.path("server")), "--tls-key", str(files.path("server-key")))
    known = files.client(cert=None, key=None, token=tokens["agent"])
    options += ("--server-ca", ca, "--tokens", str(tmp_path / "tokens"), "--queue", "1")
    there = {**files.server(), "join_ca": ca, "join_token": str(tmp_path / "node")}
    gateway = Gateway(*options, credentials=known).start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        stack.enter_context(behind_nat(gateway, tokens=str(tmp_path / "tokens"), **there))
        env = RemoteEnv(gateway.target, ENV, credentials=known, **TCP)
        env.reset(seed=1)
        for _ in range(5):
            env.step(0)
        env.close()
        with pytest.raises(UnauthenticatedError):
            RemoteEnv(gateway.target, ENV, credentials=replace(known, token=None), **TCP)


def test_a_killed_gateway_that_is_back_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "_REFUSED_SECONDS", 0.0)  # the gateway is gone for longer
    with fixed_port() as (gateway, _):
        local, remote = both(gateway, **TCP)
        steps(20, local, remote)
        gateway.kill()
        stepping = threading.Thread(target=steps, args=(20, local, remote))
        stepping.start()
        gateway.start()
        stepping.join(SECONDS)
        assert not stepping.is_alive()
        assert remote.connection_stats.resumed
        assert not remote.connection_stats.lost
        remote.close()


def step_for_ever(env: RemoteEnv) -> None:
    while True:
        env.step(0)
        env.reset()


def test_a_killed_server_is_told_to_its_client() -> None:
    with fixed_port() as (gateway, there):
        env = RemoteEnv(gateway.target, ENV, **TCP)
        env.reset()
        kill(there)
        with pytest.raises(SessionLostError):
            step_for_ever(env)
        env.close()


def test_a_clients_end_is_told_to_its_server(farm: Gateway) -> None:
    child = os.fork()
    if not child:
        RemoteEnv(farm.target, ENV, lease=1.0, **TCP).reset()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    farm.wait_until(lambda: [each.active_sessions for each in farm.servers().values()] == [0])


def test_a_server_that_drains_finishes_its_sessions() -> None:
    with fixed_port(drain_timeout=60.0) as (gateway, there):
        local, remote = both(gateway, **TCP)
        os.kill(there.pid, signal.SIGTERM)
        gateway.wait_until(lambda: gateway.states() == {NOWHERE[0]: "DRAINING"})
        steps(50, local, remote)
        assert not remote.connection_stats.lost
        remote.close()
        gateway.wait_until(lambda: not gateway.states())


def test_a_client_reaches_only_its_own_session(farm: Gateway) -> None:
    made = farm.make()
    assert list(made.capabilities)[-1] == "relayed"
    wrong = pb.SessionHeader(session_id=made.session_id, secret=secrets.token_bytes(16))
    unknown = pb.SessionHeader(session_id="nowhere", secret=made.secret)
    for shown, reason in ((wrong, Reason.WRONG_SECRET), (unknown, Reason.UNKNOWN_SESSION)):
        with dial(made) as connection:
            answer = greet(connection, direct_pb2.HelloRequest(header=shown))
            assert reason_of(answer.error) is reason
            assert is_closed(connection)
    with dial(made) as connection:
        assert greet(connection, direct_pb2.HelloRequest(header=header(made))).HasField("welcome")
    farm.environments.Close(pb.CloseRequest(header=header(made), sequence=1))


def test_no_session_is_made_at_the_gateways_direct_port(farm: Gateway) -> None:
    made = farm.make()
    with dial(made) as connection:
        asked = direct_pb2.HelloRequest(make=direct_pb2.MakeHello())
        assert "gRPC port" in greet(connection, asked).error.message
    farm.environments.Close(pb.CloseRequest(header=header(made), sequence=1))


@contextlib.contextmanager
def waiting(gateway: Gateway, port: int, run: str) -> Iterator[socket.socket]:
    """Connects as a client of a session of a fake server."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
        client.settimeout(SECONDS)
        owner = pb.SessionHeader(session_id=f"one-{run}", secret=b"s" * 16)
        client.sendall(PREAMBLE + frame(direct_pb2.HelloRequest(header=owner)))
        yield client


def show(port: int, key: bytes) -> socket.socket:
    """Connects as a server that shows a key."""
    connection = socket.create_connection(("127.0.0.1", port), SECONDS)
    connection.settimeout(SECONDS)
    connection.sendall(RELAY_PREAMBLE + key)
    return connection


def test_a_key_joins_one_connection_with_its_client_and_no_other() -> None:
    with fixed_port() as (gateway, _):
        made = gateway.make()
        port = direct_port(made)
        fake = FakeServer(gateway, dials_channels=True)
        with waiting(gateway, port, "fake") as client:
            order = next(fake.orders).channel_order
            assert order.port == port
            assert order.hello.header.session_id == "one-fake"
            with show(port, secrets.token_bytes(16)) as guessed:
                assert is_closed(guessed)
            with show(port, order.key) as there, show(port, order.key) as again:
                assert is_closed(again)
                there.sendall(b"to the client")
                assert client.recv(13, socket.MSG_WAITALL) == b"to the client"
                client.sendall(b"to the server")
                assert there.recv(13, socket.MSG_WAITALL) == b"to the server"
            assert is_closed(client), "as its server is"
        fake.leave()


def test_a_client_learns_why_a_server_refuses_it_and_nothing_of_one_that_does_not_connect() -> None:
    with fixed_port() as (gateway, _):
        port = direct_port(gateway.make())
        fake = FakeServer(gateway, dials_channels=True)
        with waiting(gateway, port, "fake") as client:
            fake.refuse(next(fake.orders).channel_order.key, status_pb2.ErrorStatus(message="no"))
            length, _, _ = HEADER.unpack(client.recv(HEADER.size, socket.MSG_WAITALL))
            answer = direct_pb2.HelloResponse.FromString(client.recv(length))
            assert answer.error.message == "no"
            assert is_closed(client)
        with waiting(gateway, port, "fake") as client:
            fake.refuse(next(fake.orders).channel_order.key, None)
            assert is_closed(client)
        with waiting(gateway, port, "fake") as client:
            key = next(fake.orders).channel_order.key
            assert is_closed(client), "after four seconds"
            with show(port, key) as late:
                assert is_closed(late)
        fake.leave()


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1", RELAY_PREAMBLE, PREAMBLE, b""])
def test_strangers_are_closed_after_five_seconds(farm: Gateway, sent: bytes) -> None:
    made = farm.make()
    with dial(made) as stranger:
        stranger.sendall(sent)
        assert is_closed(stranger)
    farm.environments.Close(pb.CloseRequest(header=header(made), sequence=1))


def test_without_a_direct_port_requests_are_relayed_one_by_one() -> None:
    gateway = Gateway("--direct-port", "-1").start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        stack.enter_context(behind_nat(gateway))
        await_free(gateway, 1)
        assert not gateway.make().HasField("direct")
        local, remote = both(gateway)
        steps(20, local, remote)
        remote.close()
