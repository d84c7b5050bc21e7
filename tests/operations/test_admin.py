"""AdminService and its commands: list, end, drain; for admins alone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from envwire.admin.v1 import admin_pb2 as pb
from envwire.admin.v1 import admin_pb2_grpc
from envwire.client import Credentials, RemoteEnv, RemoteError
from envwire.codec.errors.statuses import reason_of
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from envwire.server._auth.tokens import new_token
from envwire.v1 import status_pb2
from tests.commands import envwire, start
from tests.faults.scene import eventually

ENV = "CartPole-v1"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The path of a token file; everything that is run here has the operator's token."""
    token, line = new_token("operator", {Scope.ADMIN})
    file = tmp_path_factory.mktemp("tokens") / "tokens"
    file.write_text(line + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENVWIRE_TOKEN", token)
        yield str(file)


@pytest.fixture(scope="module")
def server(tokens: str) -> Iterator[Server]:
    with Server([ENV], tokens=tokens) as running:
        yield running


def ask(target: str, method: str, request: Any, token: str | None = None) -> Any:
    token = os.environ.get("ENVWIRE_TOKEN", "") if token is None else token
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with grpc.insecure_channel(target) as channel:
        stub = admin_pb2_grpc.AdminServiceStub(channel)
        return getattr(stub, method)(request, timeout=30, metadata=metadata)


def refused(target: str, method: str, request: Any, token: str | None = None) -> str:
    """Returns the reason of a refusal."""
    with pytest.raises(grpc.RpcError) as caught:
        ask(target, method, request, token)
    details = dict(caught.value.trailing_metadata())["grpc-status-details-bin"]
    return reason_of(status_pb2.ErrorStatus.FromString(details)).value


def listed(target: str) -> list[pb.SessionSummary]:
    return list(ask(target, "ListSessions", pb.ListSessionsRequest()).sessions)


def test_a_session_is_listed_with_what_it_did(server: Server) -> None:
    env = RemoteEnv(server.target, ENV)
    env.reset(seed=1)
    for _ in range(5):
        env.step(env.action_space.sample())
    # Its process counts a request after the answer, so the client may be the first to know.
    assert eventually(lambda: listed(server.target)[0].requests >= 6)
    assert eventually(lambda: listed(server.target)[0].state == pb.SessionSummary.STATE_IDLE)
    (session,) = listed(server.target)
    assert (session.env_id, session.client) == (ENV, "token operator")
    assert session.process_id
    assert session.lease.seconds == 60
    env.close()


def test_pages_have_each_session_once(server: Server) -> None:
    envs = [RemoteEnv(server.target, ENV) for _ in range(3)]
    seen: list[str] = []
    request = pb.ListSessionsRequest(page_size=2)
    while True:
        page = ask(server.target, "ListSessions", request)
        assert page.total == 3
        assert len(page.sessions) <= 2
        seen += [session.session_id for session in page.sessions]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert seen == sorted(set(seen))
    assert len(seen) == 3
    for env in envs:
        env.close()


def test_the_client_of_a_session_that_was_ended_is_told(server: Server) -> None:
    env = RemoteEnv(server.target, ENV)
    (ended,) = listed(server.target)
    other = RemoteEnv(server.target, ENV)
    env.reset(seed=1)
    other.reset(seed=1)
    ask(server.target, "EndSession", pb.EndSessionRequest(session_id=ended.session_id))
    ask(server.target, "EndSession", pb.EndSessionRequest(session_id=ended.session_id))
    with pytest.raises(RemoteError, match="ended by the server's operator"):
        env.step(0)
    other.step(0)
    (left,) = listed(server.target)
    assert left.session_id != ended.session_id
    env.close()
    other.close()


@pytest.mark.parametrize(
    ("method", "request_", "reason"),
    [
        ("EndSession", pb.EndSessionRequest(session_id="none"), "UNKNOWN_SESSION"),
        ("ListSessions", pb.ListSessionsRequest(page_size=-1), "MALFORMED_REQUEST"),
    ],
)
def test_errors_are_typed(server: Server, method: str, request_: Any, reason: str) -> None:
    assert refused(server.target, method, request_) == reason


def test_commands(server: Server) -> None:
    env = RemoteEnv(server.target, ENV)
    env.reset(seed=1)
    plain = envwire("sessions", server.target)
    (row,) = plain.stdout.splitlines()
    session_id = listed(server.target)[0].session_id
    assert row.split("\t")[:3] == [session_id, ENV, "token operator"]
    assert "1 session\n" in plain.stderr
    shown = json.loads(envwire("sessions", server.target, "--json").stdout)
    assert (shown["total"], shown["sessions"][0]["env_id"]) == (1, ENV)
    assert envwire("sessions", server.target, "--end", session_id).returncode == 0
    assert listed(server.target) == []
    unknown = envwire("sessions", server.target, "--end", "none")
    assert unknown.returncode == 1
    assert "no session 'none' on this server" in unknown.stderr
    env.close()


def test_it_takes_scope_admin(tmp_path: Path) -> None:
    tokens, file = {}, tmp_path / "tokens"
    for scope in Scope:
        tokens[scope], line = new_token(scope.value, {scope})
        with file.open("a") as out:
            out.write(line + "\n")
    requests = {
        "ListSessions": pb.ListSessionsRequest(),
        "EndSession": pb.EndSessionRequest(session_id="none"),
        "DrainServer": pb.DrainServerRequest(),
    }
    with Server([ENV], tokens=str(file)) as server:
        for method, request in requests.items():
            assert refused(server.target, method, request, "") == "UNAUTHENTICATED"
            enough = {Scope.ADMIN, Scope.INSPECT} if method == "ListSessions" else {Scope.ADMIN}
            for scope in {*Scope} - enough:
                assert refused(server.target, method, request, tokens[scope]) == "SCOPE_MISSING"
        env = RemoteEnv(server.target, ENV, credentials=Credentials(token=tokens[Scope.PLAY]))
        for scope in (Scope.ADMIN, Scope.INSPECT):
            answer = ask(server.target, "ListSessions", pb.ListSessionsRequest(), tokens[scope])
            assert [session.client for session in answer.sessions] == ["token play"]
        env.close()


def test_without_tokens_there_are_no_operators() -> None:
    with Server([ENV]) as server:
        env = RemoteEnv(server.target, ENV)
        env.reset(seed=1)
        (row,) = envwire("sessions", server.target).stdout.splitlines()
        for command in (
            ("sessions", server.target, "--end", row.split("\t")[0]),
            ("drain", server.target),
        ):
            done = envwire(*command)
            assert done.returncode == 1
            assert "it with --tokens FILE" in done.stderr
        env.step(0)
        RemoteEnv(server.target, ENV).close()
        env.close()


def test_a_drained_server_waits_for_its_sessions_and_stops(tokens: str) -> None:
    options = ("--port", "0", "--drain-timeout", "0", "--tokens", tokens)
    with start("serve", ENV, *options) as process:
        try:
            assert process.stdout is not None
            target = process.stdout.readline().split()[1]
            env = RemoteEnv(target, ENV)
            env.reset(seed=1)
            done = envwire("drain", target, "--timeout", "100")
            assert done.stdout == "draining: 100.0 s for 1 session to end\n"
            again = ask(target, "DrainServer", pb.DrainServerRequest())
            assert (again.sessions, again.timeout.seconds) == (1, 100)
            with pytest.raises(RemoteError, match="takes no new ones"):
                RemoteEnv(target, ENV)
            process.send_signal(
                signal.SIGTERM
            )  # from what stops a container after it had it drained
            ask(target, "ListSessions", pb.ListSessionsRequest())
            env.step(0)
            env.close()
            assert process.wait(60) == 0
        finally:
            process.send_signal(signal.SIGKILL)
