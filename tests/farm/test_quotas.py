"""Quotas of tokens, over all servers of a farm: servers know no tokens, and count for the gateway."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from envwire.client import Credentials, RemoteEnv, RemoteError, RemoteVectorEnv
from envwire.codec.digests import make_digest
from envwire.codec.errors.statuses import reason_of
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from envwire.server._auth.tokens import new_token
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import environment_pb2_grpc, status_pb2
from tests.farm.scene import ENV, SECONDS, Gateway, header, server

QUOTA = 3
LIMITED = ("alice", "bob", "carol", "dora", "emil", "fred", "gina", "hana")
LIMIT = "CLIENT_LIMIT_REACHED"


class Limited(NamedTuple):
    """Gateways with one token file, and servers that joined them all."""

    gateways: list[Gateway]
    servers: list[Server]
    tokens: dict[str, str]

    def env(self, name: str, gateway: int = 0) -> RemoteEnv[Any, Any]:
        credentials = Credentials(token=self.tokens[name])
        return RemoteEnv(self.gateways[gateway].target, ENV, credentials=credentials)

    def metadata(self, name: str) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.tokens[name]}"),)

    def make(self, name: str, gateway: int = 0, request_id: bytes = b"") -> pb.MakeResponse | str:
        """Makes through the gateway as a stock client does; returns the reason of a refusal."""
        stub = environment_pb2_grpc.EnvironmentServiceStub(self.gateways[gateway].channel)
        request, metadata = pb.MakeRequest(env_id=ENV, request_id=request_id), self.metadata(name)
        return answered(lambda: stub.Make(request, timeout=SECONDS, metadata=metadata))

    def allocate(self, name: str, count: int, gateway: int = 0) -> farm_pb2.AllocateResponse | str:
        stub = farm_pb2_grpc.FarmServiceStub(self.gateways[gateway].channel)
        digest, metadata = make_digest(pb.MakeRequest(env_id=ENV)), self.metadata(name)
        request = farm_pb2.AllocateRequest(count=count, env_id=ENV, make_digest=digest)
        return answered(lambda: stub.Allocate(request, timeout=SECONDS, metadata=metadata))

    def close(self, name: str, made: pb.MakeResponse | str) -> None:
        assert isinstance(made, pb.MakeResponse)
        stub = environment_pb2_grpc.EnvironmentServiceStub(self.gateways[0].channel)
        request = pb.CloseRequest(header=header(made), sequence=1)
        stub.Close(request, timeout=SECONDS, metadata=self.metadata(name))


def answered(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except grpc.RpcError as caught:
        error: Any = caught
        if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
            raise
        details = dict(error.trailing_metadata())["grpc-status-details-bin"]
        return reason_of(status_pb2.ErrorStatus.FromString(details)).value


@contextlib.contextmanager
def limited_farm(folder: Path, count: int, **settings: Any) -> Iterator[Limited]:
    """Runs as many gateways as servers."""
    names: dict[str, tuple[set[Scope], int | None]] = {
        **{name: ({Scope.PLAY}, QUOTA) for name in LIMITED},
        "usual": ({Scope.PLAY}, None),
        "node": ({Scope.JOIN}, None),
        "operator": ({Scope.ADMIN}, None),
    }
    made = {name: new_token(name, scopes, quota=quota) for name, (scopes, quota) in names.items()}
    file, join = folder / "tokens", folder / "join"
    file.write_text("".join(f"{line}\n" for _, line in made.values()))
    join.write_text(made["node"][0])
    tokens = {name: token for name, (token, _) in made.items()}
    credentials = Credentials(token=tokens["operator"])
    with contextlib.ExitStack() as stack:
        gateways = [
            Gateway("--tokens", str(file), "--quota", "2", credentials=credentials)
            for _ in range(count)
        ]
        for gateway in gateways:
            gateway.start()
            stack.callback(gateway.kill)
        joined = ",".join(each.target for each in gateways)
        servers = [
            stack.enter_context(
                server(gateways[0], join=[joined], join_token=str(join), **settings)
            )
            for _ in range(count)
        ]
        for gateway in gateways:
            gateway.wait_until(
                lambda one=gateway: len(registered(one, tokens["operator"])) == count  # type: ignore[misc]
            )
        yield Limited(gateways, servers, tokens)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    with limited_farm(tmp_path_factory.mktemp("tokens"), 2) as running:
        yield running


def registered(gateway: Gateway, token: str) -> list[farm_pb2.ServerStatus]:
    metadata = (("authorization", f"Bearer {token}"),)
    listed = farm_pb2.ListServersRequest()
    return list(gateway.farm.ListServers(listed, timeout=SECONDS, metadata=metadata).servers)


def test_the_python_client_gets_so_many_and_another_one_for_each_that_it_closes(
    limited: Limited,
) -> None:
    envs = [limited.env("alice") for _ in range(QUOTA)]
    with pytest.raises(RemoteError, match="token alice holds 3 of the 3 sessions") as caught:
        limited.env("alice")
    assert "quota= in the token file" in str(caught.value)
    with contextlib.closing(limited.env("bob")) as other:
        other.reset(seed=1)
    envs.pop().close()
    envs.append(until(lambda: limited.env("alice")))
    for env in envs:
        env.reset(seed=1)
        env.close()


def until(call: Callable[[], Any]) -> Any:
    """Calls until a slot that is free again is reported as such, as often as the refusal says.

    Without a pause, sessions that one attempt made, and is closing, are in the way of the next.
    """
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            return call()
        except RemoteError as refused:
            time.sleep(getattr(refused, "retry_after", None) or 0.1)
    raise AssertionError("it is refused for ever")


def test_a_vector_environment_counts_by_its_sessions(limited: Limited) -> None:
    credentials = Credentials(token=limited.tokens["bob"])
    target = limited.gateways[0].target
    with pytest.raises(RemoteError, match="holds"):
        RemoteVectorEnv(target, ENV, num_envs=8, sessions=4, credentials=credentials)
    envs = until(
        lambda: RemoteVectorEnv(target, ENV, num_envs=9, sessions=3, credentials=credentials)
    )
    envs.reset(seed=1)
    envs.close()


def test_makes_through_the_gateway_count_though_servers_know_no_token(limited: Limited) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: limited.make("carol"), range(8)))
    sessions = [each for each in made if isinstance(each, pb.MakeResponse)]
    assert (len(sessions), made.count(LIMIT)) == (QUOTA, 8 - QUOTA)
    assert limited.make("carol") == LIMIT
    for each in sessions:
        limited.close("carol", each)


def test_makes_on_one_stream_count(limited: Limited) -> None:
    stub = environment_pb2_grpc.EnvironmentServiceStub(limited.gateways[0].channel)
    requests = [pb.InteractRequest(make=pb.MakeRequest(env_id=ENV)) for _ in range(QUOTA + 2)]
    metadata = limited.metadata("dora")
    replies = list(stub.Interact(iter(requests), timeout=SECONDS, metadata=metadata))
    kinds = [each.WhichOneof("response") for each in replies]
    assert kinds == ["make"] * QUOTA + ["error"] * 2
    assert {reason_of(each.error).value for each in replies[QUOTA:]} == {LIMIT}


def test_a_repeat_at_exactly_the_quota_gets_the_first_answer_and_no_session_beyond_it(
    limited: Limited,
) -> None:
    ids = [secrets.token_bytes(16) for _ in range(QUOTA)]
    made = [limited.make("hana", request_id=each) for each in ids]
    assert limited.make("hana") == LIMIT
    with ThreadPoolExecutor(QUOTA) as pool:
        again = list(pool.map(lambda each: limited.make("hana", request_id=each), ids))
    assert again == made
    stub = environment_pb2_grpc.EnvironmentServiceStub(limited.gateways[0].channel)
    first, *others = made
    assert isinstance(first, pb.MakeResponse)
    repeat = pb.InteractRequest(make=pb.MakeRequest(env_id=ENV, request_id=ids[0]))
    metadata = limited.metadata("hana")
    [reply] = stub.Interact(iter([repeat]), timeout=SECONDS, metadata=metadata)
    assert reply.make.session_id == first.session_id
    reset = pb.ResetRequest(header=header(first), sequence=1)
    stub.Reset(reset, timeout=SECONDS, metadata=metadata)
    # It is a new Make once the session has counted its first request, which it does after answering it.
    limited.gateways[0].wait_until(lambda: limited.make("hana", request_id=ids[0]) == LIMIT)
    stub.Close(
        pb.CloseRequest(header=header(first), sequence=2), timeout=SECONDS, metadata=metadata
    )
    new = until_made(limited, "hana", ids[0])
    assert new.session_id != first.session_id
    for each in (new, *others):
        limited.close("hana", each)


def test_a_repeat_at_the_quota_is_answered_by_a_server_that_drains(tmp_path: Path) -> None:
    with limited_farm(tmp_path, 1, drain_timeout=60.0) as one:
        ids = [secrets.token_bytes(16) for _ in range(QUOTA)]
        made = [until_made(one, "alice", each) for each in ids]
        os.kill(one.servers[0].pid, signal.SIGTERM)
        one.gateways[0].wait_until(lambda: drains(one))
        assert [one.make("alice", request_id=each) for each in ids] == made
        for each in made:
            one.close("alice", each)


def drains(one: Limited) -> bool:
    [server] = registered(one.gateways[0], one.tokens["operator"])
    return server.state == farm_pb2.ServerStatus.STATE_DRAINING


def until_made(limited: Limited, name: str, request_id: bytes) -> pb.MakeResponse:
    """Makes as soon as a session that ended does not count any more."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        made = limited.make(name, request_id=request_id)
        if isinstance(made, pb.MakeResponse):
            return made
        time.sleep(0.1)
    raise AssertionError("it is refused for ever")


def test_allocated_slots_count_and_the_default_holds_where_a_token_says_nothing(
    limited: Limited,
) -> None:
    assert limited.allocate("usual", 3) == LIMIT
    assert isinstance(limited.allocate("usual", 2), farm_pb2.AllocateResponse)
    assert limited.make("usual") == LIMIT
    assert limited.allocate("usual", 1) == LIMIT


def test_tickets_of_slots_that_were_given_back_make_nothing(limited: Limited) -> None:
    tickets: list[farm_pb2.Allocation] = []
    for _ in range(2):
        tickets += until_allocated(limited, "fred", QUOTA).allocations
    made = [show(each) for each in tickets for _ in range(each.count)]
    assert len([each for each in made if isinstance(each, pb.MakeResponse)]) == QUOTA


def until_allocated(limited: Limited, name: str, count: int) -> farm_pb2.AllocateResponse:
    """Allocates as soon as slots that were not used are given back."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        given = limited.allocate(name, count)
        if isinstance(given, farm_pb2.AllocateResponse):
            return given
        time.sleep(0.1)
    raise AssertionError("the slots are kept for ever")


def show(allocation: farm_pb2.Allocation) -> pb.MakeResponse | str:
    """Makes at the server with a ticket; returns the reason of a refusal."""
    with grpc.insecure_channel(allocation.address) as channel:
        stub = environment_pb2_grpc.EnvironmentServiceStub(channel)
        metadata = (("envwire-ticket-bin", allocation.ticket),)
        request = pb.MakeRequest(env_id=ENV)
        return answered(lambda: stub.Make(request, timeout=SECONDS, metadata=metadata))


def test_two_gateways_know_of_each_others_sessions(limited: Limited) -> None:
    made = [limited.make("emil", 0) for _ in range(QUOTA)]
    seen = [limited.make("emil", 1) for _ in range(QUOTA + 1)]
    assert len([each for each in (*made, *seen) if isinstance(each, pb.MakeResponse)]) <= 2 * QUOTA
    assert seen[-1] == LIMIT
    for each in (*made, *seen):
        if isinstance(each, pb.MakeResponse):
            limited.close("emil", each)


def test_a_quota_without_tokens_is_refused(tmp_path: Path) -> None:
    from envwire.farm.gateway.config import GatewayConfig

    with pytest.raises(ValueError, match="--tokens"):
        GatewayConfig(quota=3)
