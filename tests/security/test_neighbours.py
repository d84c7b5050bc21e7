"""Clients of one server, and environments in it, keep out of each other's way."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest

from envwire.client import Credentials, RemoteEnv
from envwire.codec import Reason
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from envwire.v1 import environment_pb2 as pb
from tests.conftest import ROOT
from tests.secured import certificates, write_tokens
from tests.security.stranger import Conversation, refusal

SPY = "hostile/Spy-v0"


@pytest.fixture(scope="module")
def tokens_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokens") / "tokens"


@pytest.fixture(scope="module")
def tokens(tokens_file: Path) -> dict[str, str]:
    return write_tokens(tokens_file, {"alice": [Scope.PLAY], "mallory": [Scope.PLAY, Scope.ADMIN]})


@pytest.fixture(scope="module")
def shared(tokens_file: Path, tokens: dict[str, str]) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENVWIRE_TOKEN", tokens["mallory"])  # of an operator who starts a server
        patch.setenv(
            "ANY", "variable"
        )  # so that the fork server is a new interpreter, without the server's modules
        server = Server(
            [SPY, "CartPole-v1"],
            imports=["tests.security.hostile_envs"],
            sys_path=(ROOT,),
            tokens=tokens_file,
            **certificates().server(),
        ).start()
    yield server
    server.stop()


@pytest.fixture
def make(shared: Server, tokens: dict[str, str]) -> Iterator[Any]:
    made: list[RemoteEnv] = []

    def make(env_id: str) -> RemoteEnv:
        ca = certificates().path("ca")
        credentials = Credentials(ca=ca, cert=None, key=None, token=tokens["alice"])
        made.append(RemoteEnv(shared.target, env_id, transport="stream", credentials=credentials))
        made[-1].reset(seed=1)
        return made[-1]

    yield make
    for env in made:
        env.close()


def test_a_session_is_its_owners(shared: Server, tokens: dict[str, str], make: Any) -> None:
    env = make("CartPole-v1")
    session: Any = env._handle.driver
    identity = session.session.identity
    name, own = identity.session_id, identity.secret
    ca = certificates().path("ca").read_bytes()
    guesses = (b"", bytes(16), own[:-1], own + b"x")
    kinds = ("step", "reset", "close", "render", "renew_lease")
    with (
        grpc.secure_channel(shared.target, grpc.ssl_channel_credentials(ca)) as channel,
        Conversation(channel, tokens["mallory"]) as stream,
    ):
        for kind, secret in itertools.product(kinds, guesses):
            request = pb.InteractRequest()
            body = getattr(request, kind)
            body.header.session_id, body.header.secret = name, secret
            answer = refusal(stream.say(request.SerializeToString()))
            assert answer is Reason.WRONG_SECRET, kind
    assert env.step(0)[4] == {}


def test_an_environment_holds_nothing_of_the_server(make: Any) -> None:
    spy, other = make(SPY), make("CartPole-v1")
    files, sockets = (set(spy._call_method(name)) for name in ("open_files", "tcp_sockets"))
    assert sockets, "there are connections to take"
    assert not files & sockets
    protected = ("server-key.pem", "tokens", "server.pem")
    assert not [file for file in files if file.endswith(protected)]
    modules = set(spy._call_method("modules"))
    assert not modules & {
        "grpc",
        "envwire.server._auth.tokens",
        "envwire.server._auth.reloading",
        "ssl",
    }
    assert other.step(0)[4] == {}


def test_an_environment_is_told_no_secret(make: Any, tokens: dict[str, str]) -> None:
    spy, other = make(SPY), make("CartPole-v1")
    found = spy._call_method("surroundings")
    for secret in (
        *tokens.values(),
        other._handle.driver.session.identity.session_id,
        "PRIVATE KEY",
    ):
        assert secret not in found


def test_an_environment_sends_its_client_to_no_address() -> None:
    """The client would have told the session's secret there, and been in the hands of who listens."""
    with (
        Server(
            ["hostile/Liar-v0"], imports=["tests.security.hostile_envs"], sys_path=(ROOT,)
        ) as server,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with closing(
            RemoteEnv(server.target, "hostile/Liar-v0", transport="direct-tcp", address=address)
        ):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
