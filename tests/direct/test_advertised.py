"""The address that an operator advertises is used where the server that made the session answers, and only there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.client import Credentials, RemoteEnv
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.grpc.grpc_connection import GrpcConnection, followed
from envwire.client._transports.targets import ConnectWait
from envwire.client._transports.transport import call
from envwire.server import Server
from envwire.v1 import environment_pb2 as pb
from tests.faults.wire import BACK, Wire

ENV = "CartPole-v1"
TRANSPORTS = ("unary", "stream", "direct")


@pytest.fixture
def wire() -> Iterator[Wire]:
    """Leads from another address of this machine to the server."""
    with Wire() as wire:
        yield wire


def made_at(target: str) -> pb.MakeResponse:
    transport = open_transport("stream", target, 10.0)
    request = pb.InteractRequest(make=pb.MakeRequest(env_id=ENV))
    made = call(transport, request, 60.0).make
    transport.close()
    return made


def drive(target: str, transport: str) -> None:
    env = RemoteEnv(target, ENV, transport=transport)
    env.reset(seed=1)
    env.step(0)
    env.close()


def test_nothing_is_told_that_nobody_advertised(server: Server) -> None:
    assert made_at(server.target).address == ""


def test_a_session_names_the_run_of_its_server(server: Server) -> None:
    made, other = made_at(server.target), made_at(server.target)
    assert made.incarnation == other.incarnation
    assert made.session_id.endswith(made.incarnation)
    assert len(made.session_id) == 49
    assert made.session_id[:32] != other.session_id[:32]


def test_an_advertised_address_is_used(wire: Wire) -> None:
    with Server([ENV], **wire.settings):
        for transport in ("unary", "stream", "direct-tcp"):
            before = wire.connections
            drive(f"{BACK}:{wire.ports[0]}", transport)
            assert wire.connections > before, transport


def test_an_advertised_address_where_nobody_is_is_passed_over() -> None:
    with Server([ENV], advertise="127.0.0.3:1") as misled:
        for transport in TRANSPORTS:
            drive(misled.target, transport)


def test_an_advertised_address_of_another_server_is_passed_over(server: Server) -> None:
    with Server([ENV], advertise=server.target) as misled:
        for transport in TRANSPORTS:
            drive(misled.target, transport)


def test_nothing_but_host_and_port_is_dialled(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        made = pb.MakeResponse(address=f"unix:{path}", incarnation="another")
        here = GrpcConnection(server.target, ConnectWait(10.0, refused=False), Credentials())
        assert followed(here, made) is here
        with pytest.raises(BlockingIOError):
            listener.accept()
        here.channel.close()
