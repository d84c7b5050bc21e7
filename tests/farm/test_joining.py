"""Who may join a farm: with tokens, servers that show one with scope join."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from envwire.client import Credentials, NotAllowedError, RemoteEnv, UnauthenticatedError
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.scopes import Scope
from envwire.v1 import environment_pb2 as pb
from tests.farm.scene import ENV, Gateway, server
from tests.secured import write_tokens


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    scopes = {"agent": [Scope.PLAY], "node": [Scope.JOIN], "watcher": [Scope.OBSERVE]}
    made = write_tokens(tmp_path / "tokens", scopes)
    for name, token in made.items():
        (tmp_path / name).write_text(token + "\n")
    return made


@pytest.fixture
def gateway(tmp_path: Path, tokens: dict[str, str]) -> Iterator[Gateway]:
    running = Gateway("--tokens", str(tmp_path / "tokens")).start()
    yield running
    running.kill()


def ask(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def registered(gateway: Gateway, token: str) -> int:
    metadata = ask(token)
    listed = gateway.farm.ListServers(farm_pb2.ListServersRequest(), metadata=metadata)
    return len(listed.servers)


def register(gateway: Gateway, token: str) -> farm_pb2.RegisterResponse:
    hello = farm_pb2.ServerHello(
        server_id="false",
        address="127.0.0.1:1",
        info=pb.GetServerInfoResponse(incarnation="f", max_sessions=1),
    )
    requests = [farm_pb2.RegisterRequest(hello=hello)]
    answer: farm_pb2.RegisterResponse = next(
        gateway.farm.Register(iter(requests), metadata=ask(token), timeout=30.0)
    )
    return answer


def test_a_server_with_the_scope_gets_clients(
    gateway: Gateway, tokens: dict[str, str], tmp_path: Path
) -> None:
    settings = {"tokens": tmp_path / "tokens", "join_token": tmp_path / "node"}
    with server(gateway, **settings):
        gateway.wait_until(lambda: registered(gateway, tokens["watcher"]) == 1)
        env = RemoteEnv(gateway.target, ENV, credentials=Credentials(token=tokens["agent"]))
        env.reset(seed=1)
        env.close()
        with pytest.raises(UnauthenticatedError):
            RemoteEnv(gateway.target, ENV)
        with pytest.raises(NotAllowedError, match="scope"):
            RemoteEnv(gateway.target, ENV, credentials=Credentials(token=tokens["watcher"]))


@pytest.mark.parametrize("name", ["agent", "watcher", ""])
def test_a_server_without_the_scope_gets_none(
    gateway: Gateway, tokens: dict[str, str], name: str
) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        register(gateway, tokens.get(name, "nonsense"))
    assert refused.value.code() in {
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
    }
    assert registered(gateway, tokens["watcher"]) == 0


def test_the_scope_is_what_is_missing(gateway: Gateway, tokens: dict[str, str]) -> None:
    assert register(gateway, tokens["node"]).incarnation


@pytest.mark.parametrize("hello", [farm_pb2.ServerHello(), farm_pb2.ServerHello(server_id="a")])
def test_half_a_hello_is_refused(
    gateway: Gateway, tokens: dict[str, str], hello: farm_pb2.ServerHello
) -> None:
    requests = [farm_pb2.RegisterRequest(hello=hello)]
    with pytest.raises(grpc.RpcError, match="a hello needs"):
        next(gateway.farm.Register(iter(requests), metadata=ask(tokens["node"]), timeout=30.0))


def test_a_server_joins_several_gateways() -> None:
    first, second = Gateway().start(), Gateway().start()
    try:
        with server(first, join=[f"{first.target},{second.target}"]) as joined:
            for gateway in (first, second):
                gateway.await_servers(joined)
                assert gateway.make().address == joined.target
    finally:
        first.kill()
        second.kill()
