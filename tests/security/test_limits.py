"""Limits of one client: sessions, and environments per minute, independent of other clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import grpc
import pytest

from envwire.client import CapacityError, Credentials, RemoteEnv, SessionLostError
from envwire.codec import FaultError, Reason
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from envwire.server._front.makes.admission import Rate
from envwire.v1 import environment_pb2 as pb
from tests.conftest import ROOT
from tests.hosted_envs import Fault
from tests.secured import certificates, write_tokens
from tests.security.stranger import PATH, Conversation, refusal
from tests.security.stranger import reason as why
from tests.tiers import first

ENV = "CartPole-v1"
FAULTY = "tests/Faulty-v0"


@pytest.fixture(params=["tokens", "certificates"])
def clients(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, Any], list[Any]]:
    """Settings of a server that tells clients apart, and the credentials of two of them."""
    if request.param == "tokens":
        path = tmp_path / "tokens"
        made = write_tokens(path, {"alice": [Scope.PLAY], "bob": [Scope.PLAY]})
        return {"tokens": path}, [Credentials(token=token) for token in made.values()]
    known = certificates()
    both = [known.client(name) for name in ("client", "second-client")]
    return known.server(ask_clients=True), both


@pytest.fixture
def opened() -> Iterator[list[RemoteEnv]]:
    envs: list[RemoteEnv] = []
    yield envs
    for env in envs:
        env.close()


def test_sessions_of_one_client(
    clients: tuple[dict[str, Any], list[Any]], opened: list[RemoteEnv]
) -> None:
    settings, (alice, bob) = clients
    with Server([ENV], max_sessions_per_client=2, **settings) as server:
        opened += [RemoteEnv(server.target, ENV, credentials=alice) for _ in range(2)]
        with pytest.raises(CapacityError, match="all that one client may have") as refused:
            RemoteEnv(server.target, ENV, credentials=alice)
        assert refused.value.reason == Reason.CLIENT_LIMIT_REACHED.value
        assert refused.value.retry_after
        opened.append(RemoteEnv(server.target, ENV, credentials=bob))
        opened.pop(0).close()
        opened.append(RemoteEnv(server.target, ENV, credentials=alice))
        while opened:
            opened.pop().close()


@pytest.mark.parametrize("clients", first(["tokens", "certificates"]), indirect=True)
def test_environments_a_minute(
    clients: tuple[dict[str, Any], list[Any]], opened: list[RemoteEnv]
) -> None:
    settings, (alice, bob) = clients
    with Server([ENV], max_makes_per_minute=2, **settings) as server:
        for _ in range(2):
            RemoteEnv(server.target, ENV, credentials=alice).close()
        with pytest.raises(CapacityError, match="in a minute") as refused:
            RemoteEnv(server.target, ENV, credentials=alice)
        assert refused.value.reason == Reason.RATE_LIMITED.value
        assert refused.value.retry_after is not None
        assert 0 < refused.value.retry_after <= 30
        RemoteEnv(server.target, ENV, credentials=bob).close()


def test_what_ends_badly_gives_its_slot_back() -> None:
    with Server(
        [FAULTY], imports=["tests.hosted_envs"], sys_path=(ROOT,), max_sessions_per_client=1
    ) as server:
        for _ in range(3):
            with pytest.raises(TypeError):
                RemoteEnv(server.target, FAULTY, no_such_argument=1)
        env = RemoteEnv(server.target, FAULTY)
        env.reset()
        with pytest.raises(SessionLostError, match="SIGABRT"):
            env.step(int(Fault.ABORT))
        env.reset()
        env.close()


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_fills_again() -> None:
    clock = Clock()
    rate = Rate(6, clock)
    assert [rate.wait("a") for _ in range(6)] == [0.0] * 6
    assert rate.wait("a") == pytest.approx(10.0)
    assert rate.wait("b") == 0.0
    clock.now += 9.0
    with pytest.raises(FaultError, match=r"wait 1\.0 s") as refused:
        rate.check_make("a")
    assert refused.value.retry_after == pytest.approx(1.0)
    clock.now += 1.0
    assert [rate.wait("a") for _ in range(2)] == [0.0, pytest.approx(10.0)]
    clock.now += 3600.0
    assert [rate.wait("a") for _ in range(7)][-2:] == [0.0, pytest.approx(10.0)]


def test_no_limit_is_none() -> None:
    rate = Rate(0, Clock())
    assert not any(rate.wait("a") for _ in range(1000))


def test_buckets_of_many_clients_are_forgotten() -> None:
    clock = Clock()
    rate = Rate(60, clock)
    for number in range(10_000):
        rate.wait(str(number))
        clock.now += 0.5
    kept: dict[str, float] = vars(rate)["_full_at"]
    assert len(kept) < 5000


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (pb.MakeRequest(env_id="x" * 2**21), Reason.MESSAGE_TOO_LARGE),
        (
            pb.MakeRequest(env_id=ENV, wrappers=[pb.WrapperRequest()] * 2**20),
            Reason.MESSAGE_TOO_LARGE,
        ),
        (pb.MakeRequest(env_id="x" * 300), Reason.INVALID_VALUE),
        (pb.MakeRequest(env_id=ENV, wrappers=[pb.WrapperRequest()] * 65), Reason.INVALID_VALUE),
    ],
    ids=["id", "wrappers", "long id", "many wrappers"],
)
@pytest.mark.parametrize("transport", ["stream", "unary"])
def test_a_make_has_bounds(
    server: Server, request_: pb.MakeRequest, reason: Reason, transport: str
) -> None:
    with grpc.insecure_channel(server.target) as channel:
        if transport == "stream":
            with Conversation(channel) as stream:
                message = pb.InteractRequest(make=request_).SerializeToString()
                assert refusal(stream.say(message)) is reason
            return
        with pytest.raises(grpc.RpcError) as refused:
            cast("Any", channel.unary_unary(PATH + "Make"))(
                request_.SerializeToString(), timeout=20
            )
        assert why(refused.value) is reason
