"""Make on the direct port: a client needs no gRPC, and has the same limits as over gRPC."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from envwire.client import CapacityError, RemoteEnv
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from tests.faults.scene import active, eventually
from tests.secured import certificates, write_tokens

ENV = "CartPole-v1"
HEADER = struct.Struct("<IIQ")
PREAMBLE = b"envwire\x01"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Plain:
    """A client with a socket and the contract's messages, and nothing else."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        connection = socket.create_connection(("127.0.0.1", port), 10.0)
        self._socket = context.wrap_socket(connection) if context else connection

    def send(self, message: Any) -> None:
        raw = message.SerializeToString()
        self._socket.sendall(HEADER.pack(len(raw), 0, 0) + raw)

    def hello(self, token: str = "") -> None:
        self._socket.sendall(PREAMBLE)
        self.send(direct_pb2.HelloRequest(make=direct_pb2.MakeHello(token=token)))

    def announce(self, length: int) -> None:
        self._socket.sendall(HEADER.pack(length, 0, 0))

    def receive(self) -> bytes:
        length, where, attached = HEADER.unpack(self._exactly(HEADER.size))
        assert where == attached == 0
        return self._exactly(length)

    def answer(self) -> direct_pb2.HelloResponse:
        return direct_pb2.HelloResponse.FromString(self.receive())

    def make(self, token: str = "", **fields: Any) -> direct_pb2.HelloResponse:
        self.hello(token)
        self.send(pb.MakeRequest(**{"env_id": ENV, **fields}))
        return self.answer()

    def ask(self, **request: Any) -> pb.InteractResponse:
        self.send(pb.InteractRequest(**request))
        return pb.InteractResponse.FromString(self.receive())

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self._socket.recv(length - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def is_over(self) -> bool:
        return self._socket.recv(1) == b""

    def close(self) -> None:
        self._socket.close()


@contextmanager
def serve(**settings: Any) -> Iterator[tuple[Server, int]]:
    port = free_port()
    with Server([ENV], direct_port=port, **settings) as server:
        yield server, port


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Server, int]]:
    with serve(max_sessions=2) as there:
        yield there


@pytest.fixture
def client(served: tuple[Server, int]) -> Iterator[Plain]:
    client = Plain(served[1])
    yield client
    client.close()


def test_an_episode_without_grpc(served: tuple[Server, int], client: Plain) -> None:
    made = client.make().made
    assert made.observation_space.HasField("box")
    assert made.session_id
    assert client.answer().HasField("welcome")
    first = client.ask(reset=pb.ResetRequest(sequence=1, seed={"int_value": 42}))
    then = client.ask(step=pb.StepRequest(sequence=2, action={"int_value": 1}))
    local = RemoteEnv(served[0].target, ENV)
    assert first.reset.observation.array.data == local.reset(seed=42)[0].tobytes()
    assert then.step.observation.array.data == local.step(1)[0].tobytes()
    local.close()
    assert client.ask(close=pb.CloseRequest(sequence=3)).HasField("close")
    assert eventually(lambda: active(served[0].target) == 0)


def test_a_refusal_is_the_services_own(served: tuple[Server, int], client: Plain) -> None:
    answer = client.make(env_id="Nothing-v0")
    assert answer.error.code == 5
    assert "UNKNOWN_ENVIRONMENT" in str(answer.error)
    assert client.is_over()


def test_capacity_is_the_same(served: tuple[Server, int], client: Plain) -> None:
    envs = [RemoteEnv(served[0].target, ENV) for _ in range(2)]
    assert "CAPACITY_REACHED" in str(client.make().error)
    for env in envs:
        env.close()


def test_a_repeated_make_gets_the_same_session(served: tuple[Server, int], client: Plain) -> None:
    made = client.make(request_id=b"r" * 16).made
    client.close()  # the answer was lost
    again = Plain(served[1])
    assert again.make(request_id=b"r" * 16).made.session_id == made.session_id
    assert again.answer().HasField("welcome")
    again.ask(close=pb.CloseRequest(sequence=1))
    assert eventually(lambda: active(served[0].target) == 0)
    again.close()


def test_a_make_that_is_too_long_is_not_read(client: Plain) -> None:
    client.hello()
    client.announce(2**31)
    assert "MakeRequest of at most" in client.answer().error.message
    assert client.is_over()


def test_nonsense_is_told(client: Plain) -> None:
    client.hello()
    client.announce(3)
    client._socket.sendall(b"\xff\xff\xff")
    assert "MALFORMED_REQUEST" in str(client.answer().error)


def test_a_token_is_asked_for_before_the_make_is_read(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    made = write_tokens(tokens, {"agent": [Scope.PLAY], "viewer": [Scope.OBSERVE]})
    with serve(tokens=tokens) as (_, port):
        for token in ("", "wrong"):
            stranger = Plain(port)
            stranger.hello(token)
            assert "UNAUTHENTICATED" in str(stranger.answer().error)
            stranger.close()
        viewer, agent = Plain(port), Plain(port)
        assert "SCOPE_MISSING" in str(viewer.make(made["viewer"]).error)
        assert agent.make(made["agent"]).made.session_id
        for client in (viewer, agent):
            client.close()


def test_a_client_with_a_certificate_is_the_one_that_it_is_over_grpc() -> None:
    credentials = certificates().client()
    with serve(max_sessions_per_client=1, **certificates().server(ask_clients=True)) as (
        server,
        port,
    ):
        context = credentials.ssl_context()
        assert context is not None
        context.check_hostname = False
        client = Plain(port, context)
        assert client.make().made.session_id
        with pytest.raises(CapacityError, match="holds 1 session,"):
            RemoteEnv(server.target, ENV, credentials=credentials)
        client.close()
