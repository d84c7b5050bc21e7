"""Makes with tickets: servers get no token of a client, and need to know none; a stolen ticket makes nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from envwire.client import Credentials, NotAllowedError, RemoteEnv, RemoteVectorEnv
from envwire.codec.digests import make_digest
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.scopes import Scope
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import environment_pb2_grpc
from tests.farm.scene import ENV, SECONDS, Gateway, server
from tests.secured import write_tokens

MAKE = pb.MakeRequest(env_id=ENV)


class Guarded:
    """A gateway that knows alice, and a server that does not."""

    def __init__(self, directory: Path) -> None:
        scopes = {
            "alice": [Scope.PLAY, Scope.OBSERVE],
            "bob": [Scope.OBSERVE],
            "node": [Scope.JOIN],
        }
        self.tokens = write_tokens(directory / "gateway-tokens", scopes)
        write_tokens(directory / "server-tokens", {"operator": [Scope.ADMIN]})
        (directory / "node").write_text(self.tokens["node"])
        self.metadata = (("authorization", f"Bearer {self.tokens['alice']}"),)
        self.gateway = Gateway("--tokens", str(directory / "gateway-tokens")).start()
        files = {"tokens": directory / "server-tokens", "join_token": directory / "node"}
        self.server = server(self.gateway, max_sessions=4, **files)

    def credentials(self, name: str = "alice") -> Credentials:
        return Credentials(token=self.tokens[name])

    def free(self) -> int:
        asked = farm_pb2.ListServersRequest()
        listed = self.gateway.farm.ListServers(asked, timeout=SECONDS, metadata=self.metadata)
        return sum(each.max_sessions - each.active_sessions for each in listed.servers)

    def allocate(self, **more: Any) -> farm_pb2.Allocation:
        asked = farm_pb2.AllocateRequest(count=1, env_id=ENV, make_digest=make_digest(MAKE))
        asked.MergeFrom(farm_pb2.AllocateRequest(**more))
        answer = self.gateway.farm.Allocate(asked, timeout=SECONDS, metadata=self.metadata)
        (allocation,) = answer.allocations
        return allocation


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    scene = Guarded(tmp_path)
    try:
        with scene.server:
            scene.gateway.wait_until(lambda: scene.free() == 4)
            yield scene
    finally:
        scene.gateway.kill()


def make_at(address: str, request: pb.MakeRequest, *metadata: tuple[str, bytes | str]) -> Any:
    with grpc.insecure_channel(address) as channel:
        stub = environment_pb2_grpc.EnvironmentServiceStub(channel)
        return stub.Make(request, timeout=SECONDS, metadata=metadata)


def code_of(address: str, request: pb.MakeRequest, *metadata: tuple[str, bytes | str]) -> Any:
    with pytest.raises(grpc.RpcError) as refused:
        make_at(address, request, *metadata)
    return refused.value.code()


@pytest.mark.parametrize("transport", ["unary", "stream", "direct-tcp", "direct"])
def test_a_server_needs_no_token_of_the_client(guarded: Guarded, transport: str) -> None:
    target, credentials = guarded.gateway.target, guarded.credentials()
    env = RemoteEnv(target, ENV, transport=transport, credentials=credentials)
    env.reset(seed=1)
    guarded.gateway.kill()
    for action in (0, 1):
        env.step(action)
    env.close()


def test_a_vector_environment_too(guarded: Guarded) -> None:
    envs = RemoteVectorEnv(
        guarded.gateway.target, ENV, num_envs=4, sessions=2, credentials=guarded.credentials()
    )
    assert envs.reset(seed=1)[0].shape == (4, 4)
    envs.close()


def test_who_may_not_play_gets_no_ticket(guarded: Guarded) -> None:
    with pytest.raises(NotAllowedError, match="scope"):
        RemoteEnv(guarded.gateway.target, ENV, credentials=guarded.credentials("bob"))


def test_a_stolen_ticket_makes_no_session_more(guarded: Guarded) -> None:
    allocation = guarded.allocate()
    ticket = ("envwire-ticket-bin", allocation.ticket)
    assert make_at(allocation.address, MAKE, ticket).incarnation == allocation.incarnation
    assert code_of(allocation.address, MAKE, ticket) is grpc.StatusCode.UNAUTHENTICATED
    other = pb.MakeRequest(env_id="Pendulum-v1")
    fresh = ("envwire-ticket-bin", guarded.allocate().ticket)
    assert code_of(allocation.address, other, fresh) is grpc.StatusCode.UNAUTHENTICATED
    assert code_of(allocation.address, MAKE) is grpc.StatusCode.UNAUTHENTICATED


def test_a_ticket_takes_the_slots_that_are_kept_for_it(guarded: Guarded) -> None:
    allocation = guarded.allocate(count=3)
    ticket = ("envwire-ticket-bin", allocation.ticket)
    for _ in range(3):
        make_at(allocation.address, MAKE, ticket)
    assert code_of(allocation.address, MAKE, ticket) is grpc.StatusCode.UNAUTHENTICATED
    guarded.gateway.wait_until(lambda: guarded.free() == 1)


def test_slots_that_one_gateway_was_promised_no_other_can_give() -> None:
    first, second = Gateway().start(), Gateway().start()
    try:
        with server(first, join=[first.target, second.target], max_sessions=4) as shared:
            for gateway in (first, second):
                gateway.await_servers(shared)
            asked = farm_pb2.AllocateRequest(count=4, env_id=ENV)
            (kept,) = first.farm.Allocate(asked, timeout=SECONDS).allocations
            with pytest.raises(grpc.RpcError, match="has not 4 free slots"):
                second.farm.Allocate(asked, timeout=SECONDS)
            assert code_of(shared.target, MAKE) is grpc.StatusCode.RESOURCE_EXHAUSTED
            made = make_at(shared.target, MAKE, ("envwire-reservation-bin", kept.reservation_id))
            assert made.session_id
    finally:
        first.kill()
        second.kill()


def test_slots_that_nobody_takes_are_free_again(guarded: Guarded) -> None:
    guarded.allocate(count=4)
    assert guarded.free() == 0
    guarded.gateway.wait_until(lambda: guarded.free() == 4)
