"""Joining a farm: with tokens, only servers that show one of scope join may do so."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import grpc
import pytest

from envwire.client import Credentials, NotAllowedError, RemoteEnv, UnauthenticatedError
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.scopes import Scope, ServerPatterns
from envwire.server._auth.tokens import new_token
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2
from tests.farm.scene import ENV, Gateway, header, server
from tests.secured import write_tokens


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    scopes = {
        "agent": [Scope.PLAY],
        "another": [Scope.JOIN],
        "watcher": [Scope.OBSERVE],
    }
    made = write_tokens(tmp_path / "tokens", scopes)
    patterns = ServerPatterns(servers=("gpu-*",), addresses=("10.0.0.1:*", "10.0.1.*:*", "[::1]:*"))
    here = ServerPatterns(addresses=("127.0.0.1:*",))
    for name, bound in (("bound", patterns), ("node", here)):
        made[name], line = new_token(name, [Scope.JOIN], bound)
        with (tmp_path / "tokens").open("a") as file:
            file.write(line + "\n")
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


def register(
    gateway: Gateway,
    token: str,
    server_id: str = "false",
    address: str = "127.0.0.1:1",
    incarnation: str = "f",
) -> farm_pb2.RegisterResponse:
    """Registers a fake server with free slots and all environments of these tests."""
    spec = specs_pb2.EnvSpec(id=ENV)
    hello = farm_pb2.ServerHello(
        server_id=server_id,
        address=address,
        info=pb.GetServerInfoResponse(incarnation=incarnation, max_sessions=100_000),
        environments=[pb.EnvironmentListing(library="gymnasium", spec=spec)],
    )
    requests = [farm_pb2.RegisterRequest(hello=hello)]
    answer: farm_pb2.RegisterResponse = next(
        gateway.farm.Register(iter(requests), metadata=ask(token), timeout=30.0)
    )
    return answer


def refusal(register: Callable[[], object]) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as refused:
        register()
    code: grpc.StatusCode = refused.value.code()
    return code


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
    token = tokens.get(name, "nonsense")
    assert refusal(lambda: register(gateway, token)) in {_DENIED, grpc.StatusCode.UNAUTHENTICATED}
    assert registered(gateway, tokens["watcher"]) == 0


def test_the_scope_is_what_is_missing(gateway: Gateway, tokens: dict[str, str]) -> None:
    assert register(gateway, tokens["node"]).incarnation


@pytest.mark.parametrize(
    "lie",
    [
        {"server_id": "gpu-1"},  # without an address of its own
        {"address": "10.0.0.9:1"},
        {"server_id": "cpu-1", "address": "10.0.0.1:1"},
        {"server_id": "GPU-1", "address": "10.0.0.1:1"},
        {"server_id": "gpu-1.evil", "address": "10.0.0.1:1"},
        {"server_id": "gpu-1", "address": "10.0.1.evil.example:1"},
    ],
)
def test_a_token_that_is_bound_registers_its_servers_only(
    gateway: Gateway, tokens: dict[str, str], lie: dict[str, str]
) -> None:
    assert refusal(lambda: register(gateway, tokens["bound"], **lie)) is _DENIED
    assert registered(gateway, tokens["watcher"]) == 0


def test_a_token_that_is_bound_registers_its_servers(
    gateway: Gateway, tokens: dict[str, str]
) -> None:
    assert register(gateway, tokens["bound"], "gpu-1", "10.0.0.1:1").incarnation


def test_a_server_that_lives_keeps_its_id_its_incarnation_and_its_clients(
    gateway: Gateway, tokens: dict[str, str], tmp_path: Path
) -> None:
    settings = {"tokens": tmp_path / "tokens", "join_token": tmp_path / "node"}
    with server(gateway, **settings):
        gateway.wait_until(lambda: registered(gateway, tokens["watcher"]) == 1)
        request = farm_pb2.ListServersRequest()
        (true,) = gateway.farm.ListServers(request, metadata=ask(tokens["watcher"])).servers
        agent = ask(tokens["agent"])
        made = gateway.environments.Make(pb.MakeRequest(env_id=ENV), metadata=agent, timeout=30.0)
        run = made.session_id.rpartition("-")[2]
        for name, lie in itertools.product(
            ("node", "another"),
            (
                {"server_id": true.server_id},
                {"incarnation": run},
                {"server_id": true.server_id, "incarnation": run},
                {"server_id": true.server_id, "address": true.address},
            ),
        ):
            token = tokens[name]
            assert (
                refusal(partial(register, gateway, token, **lie)) is grpc.StatusCode.ALREADY_EXISTS
            )
        reset = pb.ResetRequest(header=header(made), sequence=1)
        gateway.environments.Reset(reset, metadata=agent, timeout=30.0)
        again = gateway.environments.Make(pb.MakeRequest(env_id=ENV), metadata=agent, timeout=30.0)
        assert again.address == made.address


_DENIED = grpc.StatusCode.PERMISSION_DENIED


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
