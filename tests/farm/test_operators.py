"""AdminService at a gateway: it lists, ends and drains on all servers, over their registrations."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import grpc
import pytest

from envwire.admin.v1 import admin_pb2 as pb
from envwire.admin.v1 import admin_pb2_grpc
from envwire.client import Credentials, RemoteEnv, RemoteError
from envwire.codec.errors.statuses import reason_of
from envwire.codec.messages import to_seconds
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from envwire.server._auth.tokens import new_token
from envwire.v1 import environment_pb2, specs_pb2, status_pb2
from tests.farm.scene import ENV, SECONDS, Gateway, farm, server

ENVWIRE = (sys.executable, "-m", "envwire")


class Fake:
    """A server that registers and reports; whether it reads its orders is up to the test."""

    def __init__(self, gateway: Gateway, token: str, name: str) -> None:
        self._over = threading.Event()
        hello = farm_pb2.ServerHello(
            server_id=name,
            address="127.0.0.1:1",
            info=environment_pb2.GetServerInfoResponse(max_sessions=1, incarnation=name),
            environments=[environment_pb2.EnvironmentListing(spec=specs_pb2.EnvSpec(id="Fake-v0"))],
            takes_admin_orders=True,
        )
        metadata = (("authorization", f"Bearer {token}"),)
        self.call: Any = gateway.farm.Register(self._reports(hello), metadata=metadata)
        next(self.call)

    def _reports(self, hello: farm_pb2.ServerHello) -> Iterator[farm_pb2.RegisterRequest]:
        yield farm_pb2.RegisterRequest(hello=hello)
        while not self._over.wait(0.5):
            yield farm_pb2.RegisterRequest(load=farm_pb2.ServerLoad())

    def close(self) -> None:
        self._over.set()
        self.call.cancel()


class Guarded(NamedTuple):
    """A farm whose servers have no token file; they joined with a token of scope join."""

    gateway: Gateway
    servers: list[Server]
    tokens: dict[str, str]

    def ask(self, method: str, request: Any, name: str = "operator") -> Any:
        metadata = (("authorization", f"Bearer {self.tokens[name]}"),)
        stub = admin_pb2_grpc.AdminServiceStub(self.gateway.channel)
        return getattr(stub, method)(request, timeout=SECONDS, metadata=metadata)

    def sessions(self, **asked: Any) -> list[pb.SessionSummary]:
        return list(self.ask("ListSessions", pb.ListSessionsRequest(**asked)).sessions)

    def status(self, server_id: str) -> farm_pb2.ServerStatus:
        metadata = (("authorization", f"Bearer {self.tokens['operator']}"),)
        request = farm_pb2.ListServersRequest()
        listed = self.gateway.farm.ListServers(request, timeout=SECONDS, metadata=metadata)
        return next(each for each in listed.servers if each.server_id == server_id)

    def state(self, server_id: str) -> str:
        state = self.status(server_id).state
        return farm_pb2.ServerStatus.State.Name(state).removeprefix("STATE_")

    def await_state(self, server_id: str, state: str) -> None:
        self.gateway.wait_until(
            lambda: self.state(server_id) == state, lambda: self.state(server_id)
        )

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*ENVWIRE, *arguments],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env={**os.environ, "ENVWIRE_TOKEN": self.tokens["operator"]},
        )

    def env(self) -> RemoteEnv[Any, Any]:
        return RemoteEnv(
            self.gateway.target, ENV, credentials=Credentials(token=self.tokens["player"])
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    tmp_path = tmp_path_factory.mktemp("tokens")
    scopes = {
        "operator": {Scope.ADMIN},
        "inspector": {Scope.INSPECT},
        "player": {Scope.PLAY},
        "node": {Scope.JOIN},
    }
    made = {name: new_token(name, scope) for name, scope in scopes.items()}
    file, join = tmp_path / "tokens", tmp_path / "join"
    file.write_text("".join(f"{line}\n" for _, line in made.values()))
    join.write_text(made["node"][0])
    tokens = {name: token for name, (token, _) in made.items()}
    gateway = Gateway("--tokens", str(file), credentials=Credentials(token=tokens["operator"]))
    gateway.start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        servers = [
            stack.enter_context(server(gateway, join_token=str(join), drain_timeout=20.0))
            for _ in range(3)
        ]
        metadata = (("authorization", f"Bearer {tokens['operator']}"),)
        listed = farm_pb2.ListServersRequest()
        gateway.wait_until(
            lambda: (
                len(gateway.farm.ListServers(listed, timeout=SECONDS, metadata=metadata).servers)
                == 3
            )
        )
        yield Guarded(gateway, servers, tokens)


def refusal(env: RemoteEnv[Any, Any]) -> str:
    """Steps; returns the error, or nothing."""
    try:
        env.step(0)
    except RemoteError as error:
        return str(error)
    return ""


def reason(error: grpc.RpcError) -> str:
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    return reason_of(status_pb2.ErrorStatus.FromString(details)).value


def test_sessions_of_all_servers_are_listed_with_their_server(guarded: Guarded) -> None:
    with contextlib.ExitStack() as stack:
        envs = [stack.enter_context(contextlib.closing(guarded.env())) for _ in range(5)]
        sessions = guarded.sessions()
        assert len({each.session_id for each in sessions}) == len(envs)
        assert len({each.server_id for each in sessions}) == 3
        assert {each.env_id for each in sessions} == {ENV}
        one = sessions[0].server_id
        assert {each.server_id for each in guarded.sessions(server_id=one)} == {one}
        first = guarded.ask("ListSessions", pb.ListSessionsRequest(page_size=2))
        assert (len(first.sessions), bool(first.next_page_token)) == (2, True)


def test_the_commands(guarded: Guarded) -> None:
    with contextlib.closing(guarded.env()) as env, contextlib.closing(guarded.env()) as other:
        env.reset(seed=1)
        other.reset(seed=1)
        shown = guarded.command("sessions", guarded.gateway.target)
        rows = [line.split("\t") for line in shown.stdout.splitlines()]
        assert [row[1] for row in rows] == [ENV, ENV]
        assert "2 sessions" in shown.stderr
        ended, left = rows
        done = guarded.command("sessions", guarded.gateway.target, "--end", ended[0])
        assert done.returncode == 0, done.stderr
        told = [refusal(each) for each in (env, other)]
        assert sorted("ended by the server's operator" in each for each in told) == [False, True]
        (row,) = guarded.command("sessions", guarded.gateway.target).stdout.splitlines()
        assert row.split("\t")[0] == left[0]


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("inspector", ["answered", "SCOPE_MISSING", "SCOPE_MISSING"]),
        ("player", ["SCOPE_MISSING"] * 3),
        ("node", ["SCOPE_MISSING"] * 3),
    ],
)
def test_it_takes_the_scopes_that_servers_ask_for(
    guarded: Guarded, name: str, verdicts: list[str]
) -> None:
    with contextlib.closing(guarded.env()):
        (session,) = guarded.sessions()
        requests = {
            "ListSessions": pb.ListSessionsRequest(),
            "EndSession": pb.EndSessionRequest(session_id=session.session_id),
            "DrainServer": pb.DrainServerRequest(server_id=session.server_id),
        }
        seen = []
        for method, request in requests.items():
            try:
                guarded.ask(method, request, name)
                seen.append("answered")
            except grpc.RpcError as error:
                seen.append(reason(error))
        assert seen == verdicts
        assert len(guarded.sessions()) == 1


@pytest.mark.parametrize(
    ("method", "request_", "verdict"),
    [
        ("EndSession", pb.EndSessionRequest(session_id="none"), "UNKNOWN_SESSION"),
        ("EndSession", pb.EndSessionRequest(session_id="0-0"), "UNKNOWN_SESSION"),
        ("ListSessions", pb.ListSessionsRequest(page_size=-1), "MALFORMED_REQUEST"),
        ("ListSessions", pb.ListSessionsRequest(server_id="nobody"), "MALFORMED_REQUEST"),
        ("DrainServer", pb.DrainServerRequest(), "MALFORMED_REQUEST"),
        ("DrainServer", pb.DrainServerRequest(server_id="nobody"), "MALFORMED_REQUEST"),
    ],
)
def test_errors_are_typed(guarded: Guarded, method: str, request_: Any, verdict: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        guarded.ask(method, request_)
    assert reason(caught.value) == verdict


def test_a_server_that_does_not_answer_is_named_and_the_others_listed(guarded: Guarded) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(contextlib.closing(guarded.env()))
        stopped = guarded.servers[0]
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            answer = guarded.ask("ListSessions", pb.ListSessionsRequest())
            assert len(answer.sessions) == 2
            (silent,) = answer.unanswered
            assert silent.server_id.endswith(stopped.target.rpartition(":")[2])
            assert "did not answer within 2 s" in silent.why
        finally:
            os.kill(stopped.pid, signal.SIGCONT)


def beside_a_mute_server(guarded: Guarded, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that asks a server which does not answer: a new one, which has not been found out yet."""
    with contextlib.closing(Fake(guarded.gateway, guarded.tokens["node"], "mute")) as fake:
        done = guarded.command(*command)
    guarded.gateway.wait_until(lambda: guarded.state("mute") != "FREE")
    assert fake.call.done()
    return done


def test_what_a_command_says_of_a_server_that_does_not_answer(guarded: Guarded) -> None:
    target = guarded.gateway.target
    with contextlib.closing(guarded.env()):
        shown = beside_a_mute_server(guarded, "sessions", target)
        assert (shown.returncode, len(shown.stdout.splitlines())) == (1, 1)
        assert "no answer from mute (it did not answer within 2 s)" in shown.stderr
        told = json.loads(beside_a_mute_server(guarded, "sessions", target, "--json").stdout)
        assert [each["server_id"] for each in told["unanswered"]] == ["mute"]
        drained = beside_a_mute_server(guarded, "drain", target, "--server", "mute")
        assert drained.returncode == 1
        assert "envwire drain: server mute did not say that it obeys" in drained.stderr


def test_a_server_that_reports_and_obeys_nothing_has_to_register_again(guarded: Guarded) -> None:
    fake = Fake(guarded.gateway, guarded.tokens["node"], "blind")
    with contextlib.closing(fake):
        for _ in range(2):
            with pytest.raises(grpc.RpcError, match="did not answer within 2 s"):
                guarded.ask("EndSession", pb.EndSessionRequest(session_id="any-blind"))
        with pytest.raises(grpc.RpcError, match="no order was answered for 5 s"):
            list(fake.call)
        assert guarded.state("blind") != "FREE"


def test_an_order_expires_for_a_server_that_was_stopped_until_nobody_waited(
    guarded: Guarded,
) -> None:
    stopped = guarded.servers[0]
    server_id = f"{socket.gethostname()}:{stopped.target.rpartition(':')[2]}"
    os.kill(stopped.pid, signal.SIGSTOP)
    try:
        with pytest.raises(grpc.RpcError, match="did not answer"):
            guarded.ask("DrainServer", pb.DrainServerRequest(server_id=server_id))
        # The order lasts 2 s, up to 2 more as clocks are rounded to seconds, and as long as the server took to read the
        # answer to its hello, at most 5 s. One that is continued earlier drains and never returns.
        guarded.gateway.wait_until(lambda: to_seconds(guarded.status(server_id).silence) > 10)
        assert guarded.state(server_id) == "DEAD"
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
    guarded.await_state(server_id, "FREE")
    assert not guarded.sessions(server_id=server_id)
    assert guarded.state(server_id) == "FREE", "it does not drain"


def test_a_server_is_drained(guarded: Guarded) -> None:
    """The last test of the three servers."""
    with contextlib.closing(guarded.env()):
        server_id = guarded.sessions()[0].server_id
        done = guarded.command("drain", guarded.gateway.target, "--server", server_id)
        assert done.stdout == "draining: 20.0 s for 1 session to end\n", done.stderr
        shown = guarded.command("farm", "status", guarded.gateway.target, "--json")
        states = {each["server_id"]: each["state"] for each in json.loads(shown.stdout)["servers"]}
        assert states[server_id] == "STATE_DRAINING"


def test_servers_that_joined_without_a_token_are_listed_only() -> None:
    """A gateway without tokens has no operators; and what took its port is no gateway."""
    with farm(1) as (gateway, (one,)):
        stub = admin_pb2_grpc.AdminServiceStub(gateway.channel)
        made = gateway.make()
        (session,) = stub.ListSessions(pb.ListSessionsRequest(), timeout=SECONDS).sessions
        assert session.session_id == made.session_id
        with pytest.raises(grpc.RpcError) as caught:
            stub.DrainServer(pb.DrainServerRequest(server_id=one.target), timeout=SECONDS)
        assert reason(caught.value) == "SCOPE_MISSING"


def test_a_server_obeys_no_gateway_that_asked_for_no_token() -> None:
    """As a process could that took the port of a gateway that is gone."""
    orders = {
        "list_sessions": pb.ListSessionsRequest(),
        "end_session": pb.EndSessionRequest(session_id="any"),
        "drain_server": pb.DrainServerRequest(),
    }
    answers: dict[str, str] = {}

    class Impostor(farm_pb2_grpc.FarmServiceServicer):
        def Register(self, requests: Iterator[farm_pb2.RegisterRequest], context: Any) -> Any:
            next(requests)
            yield farm_pb2.RegisterResponse(incarnation="impostor")
            for number, (kind, order) in enumerate(orders.items()):
                given: Any = {kind: order}
                yield farm_pb2.RegisterResponse(
                    admin_order=farm_pb2.AdminOrder(order_id=number, **given)
                )
                told = next(each for each in requests if each.HasField("admin_answer"))
                error = told.admin_answer.error
                failed = told.admin_answer.HasField("error")
                answers[kind] = reason_of(error).value if failed else "answered"
            done.set()

    done = threading.Event()
    impostor = grpc.server(ThreadPoolExecutor(2))
    farm_pb2_grpc.add_FarmServiceServicer_to_server(Impostor(), impostor)
    port = impostor.add_insecure_port("127.0.0.1:0")
    impostor.start()
    try:
        with Server([ENV], join=[f"127.0.0.1:{port}"]):
            assert done.wait(SECONDS)
    finally:
        impostor.stop(None).wait()
    assert answers == {
        "list_sessions": "answered",
        "end_session": "SCOPE_MISSING",
        "drain_server": "SCOPE_MISSING",
    }
