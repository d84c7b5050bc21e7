"""ObserveService: counters of sessions, rounds of changes, ends, and scopes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from envwire.client import Credentials, RemoteEnv, RemoteVectorEnv, SessionLostError
from envwire.observe.v1 import observe_pb2 as pb
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from envwire.server.cli._inspect.watch import first_round, pictures
from tests.faults.scene import eventually
from tests.hosted_envs import Fault
from tests.operations.watching import next_round, refused, watching
from tests.secured import write_tokens

ENV, FAULTY, PAINTED = "CartPole-v1", "tests/Faulty-v0", "tests/Painted-v0"
IMPORTS = ["tests.hosted_envs", "tests.operations.painted_envs"]
QUICK = pb.WatchRequest(period=Duration(nanos=200_000_000))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server([ENV, FAULTY, PAINTED], imports=IMPORTS, frames=True) as running:
        yield running


def test_the_first_round_has_everything_and_the_next_what_changed(server: Server) -> None:
    still = RemoteEnv(server.target, ENV)
    moving = RemoteVectorEnv(server.target, ENV, num_envs=3, sessions=1)
    moving.reset(seed=1)
    with watching(server.target, "Watch", QUICK) as answers:
        first = next_round(answers)
        assert (first.server.active_sessions, first.server.max_sessions) == (2, 64)
        assert first.server.incarnation
        assert {each.client for each in first.sessions} == {"address of this machine"}
        assert {each.env_id for each in first.sessions} == {ENV}
        for _ in range(5):
            moving.step(moving.action_space.sample())
        later: list[pb.SessionStatus] = []
        while not later or later[-1].steps < 15:
            later += next_round(answers).sessions
    assert {each.session_id for each in later} == {later[-1].session_id}, "the other is unchanged"
    assert later[-1].steps == 15, "each member of a vector environment takes a step"
    assert 0 < later[-1].stepping < later[-1].serving
    assert not later[-1].HasField("idle_since")
    still.close()
    moving.close()


def test_ends_are_told_with_their_reasons(server: Server) -> None:
    with watching(server.target, "Watch", QUICK) as answers:
        next_round(answers)
        lost = RemoteEnv(server.target, FAULTY)
        lost.reset(seed=1)
        lost.step(0)
        with pytest.raises(SessionLostError):
            lost.step(Fault.PRINT_AND_ABORT)
        ended: list[pb.SessionEnd] = []
        while not ended:
            ended += next_round(answers).ended
    assert [(each.reason, each.steps) for each in ended] == [("SESSION_LOST", 1)]
    assert "SIGABRT" in ended[0].message
    with watching(
        server.target, "DescribeSession", pb.DescribeSessionRequest(session_id=ended[0].session_id)
    ) as told:
        assert told.exit_status < 0
        assert "last words" in told.output
        assert [event.text for event in told.events][-1] == "ended: SESSION_LOST"
        assert "made" in [event.text for event in told.events]


def test_a_living_session_is_described_with_its_output(server: Server) -> None:
    env = RemoteEnv(server.target, PAINTED, says="hello operator")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="wet"):
        env.step(2)
    with watching(server.target, "Watch", QUICK) as answers:
        (session,) = next_round(answers).sessions
    request = pb.DescribeSessionRequest(session_id=session.session_id)
    with watching(server.target, "DescribeSession", request) as told:
        assert "hello operator" in told.output
        assert "ValueError: the paint is wet" in told.output
        assert not told.HasField("end")
    env.close()


def test_watchers_see_no_secret_argument_or_output(server: Server) -> None:
    env = RemoteEnv(server.target, PAINTED, says="a secret word")
    env.reset(seed=1)
    with watching(server.target, "Watch", QUICK) as answers:
        told = next_round(answers).SerializeToString()
    assert b"address of this machine" in told
    assert b"secret word" not in told
    env.close()


def test_what_each_scope_sees(tmp_path: Path) -> None:
    scopes = {
        "player": [Scope.PLAY],
        "observer": [Scope.OBSERVE],
        "inspector": [Scope.INSPECT],
        "alice": [Scope.PLAY, Scope.WATCH],
        "boss": [Scope.ADMIN],
    }
    tokens = write_tokens(tmp_path / "tokens", scopes)
    with Server([PAINTED], imports=IMPORTS, tokens=str(tmp_path / "tokens"), frames=True) as server:
        target = server.target
        envs = {
            name: RemoteEnv(
                target,
                PAINTED,
                render_mode="rgb_array",
                credentials=Credentials(token=tokens[name]),
            )
            for name in ("player", "alice")
        }
        with watching(target, "Watch", QUICK, tokens["inspector"]) as answers:
            ids = {each.client: each.session_id for each in next_round(answers).sessions}
        with watching(target, "Watch", QUICK, tokens["observer"]) as answers:
            told = next_round(answers)
            assert (told.server.active_sessions, len(told.sessions)) == (2, 0), "others' are hidden"
        theirs = pb.DescribeSessionRequest(session_id=ids["token player"])
        hers = pb.DescribeSessionRequest(session_id=ids["token alice"])
        assert refused(target, "Watch", QUICK) == "UNAUTHENTICATED"
        for name in ("player", "alice"):
            assert refused(target, "Watch", QUICK, tokens[name]) == "SCOPE_MISSING"
        for method in ("DescribeSession", "WatchFrames"):
            for name in ("player", "observer", "inspector"):
                assert refused(target, method, theirs, tokens[name]) == "SCOPE_MISSING"
            assert refused(target, method, theirs, tokens["alice"]) == "SCOPE_MISSING"
            with watching(target, method, hers, tokens["alice"]) as told:
                assert told if method == "DescribeSession" else next(told)
            with watching(target, method, theirs, tokens["boss"]) as told:
                assert told if method == "DescribeSession" else next(told)
        for env in envs.values():
            env.close()


def test_a_watcher_whose_token_is_withdrawn_sees_no_more(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    tokens = write_tokens(path, {"observer": [Scope.OBSERVE]})
    with (
        Server([ENV], tokens=str(path)) as server,
        watching(server.target, "Watch", QUICK, tokens["observer"]) as answers,
    ):
        next_round(answers)
        write_tokens(path, {"observer": [Scope.OBSERVE]})
        with pytest.raises(grpc.RpcError, match="does not know the token"):
            list(answers)


@pytest.mark.parametrize("method", ["DescribeSession", "WatchFrames"])
def test_unknown_sessions(server: Server, method: str) -> None:
    request = pb.DescribeSessionRequest(session_id="none")
    assert refused(server.target, method, request) == "UNKNOWN_SESSION"


def test_watchers_are_counted(server: Server) -> None:
    with grpc.insecure_channel(server.target) as channel:
        from envwire.observe.v1 import observe_pb2_grpc

        stub = observe_pb2_grpc.ObserveServiceStub(channel)
        calls = [stub.Watch(pb.WatchRequest(), timeout=60) for _ in range(32)]
        for call in calls:
            next(call)
        assert refused(server.target, "Watch", pb.WatchRequest()) == "CAPACITY_REACHED"
        for call in calls:
            call.cancel()


def test_output_of_processes_that_clients_share_is_for_admins(tmp_path: Path) -> None:
    scopes = {"alice": [Scope.PLAY, Scope.WATCH], "boss": [Scope.ADMIN]}
    tokens = write_tokens(tmp_path / "tokens", scopes)
    settings = {"share_processes": True, "sessions_per_process": 4}
    with Server([PAINTED], imports=IMPORTS, tokens=str(tmp_path / "tokens"), **settings) as server:
        credentials = Credentials(token=tokens["alice"])
        env = RemoteEnv(server.target, PAINTED, credentials=credentials, says="to whom?")
        with watching(server.target, "Watch", QUICK, tokens["boss"]) as answers:
            (session,) = next_round(answers).sessions
        request = pb.DescribeSessionRequest(session_id=session.session_id)
        with watching(server.target, "DescribeSession", request, tokens["alice"]) as told:
            assert (told.output, told.output_withheld) == ("", True)
        with watching(server.target, "DescribeSession", request, tokens["boss"]) as told:
            assert "to whom?" in told.output
        env.close()


def test_commands_watch(server: Server) -> None:
    env = RemoteEnv(server.target, PAINTED, render_mode="rgb_array")
    (session,) = first_round(server.target).sessions
    env.reset(seed=1)

    def is_counted() -> bool:
        """Requests are counted after they are answered."""
        (changed,) = first_round(server.target).sessions
        return changed.requests > session.requests

    assert eventually(is_counted)
    shown = pictures(server.target, session.session_id)
    assert next(each for each in shown if each.frame.width).frame.width == 214
    shown.close()
    env.close()
