"""Tokens: clients without one are refused, others have their scopes, and changes of the file take effect."""

from __future__ import annotations

import dataclasses
import hmac
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from envwire.client import (
    Credentials,
    InvalidRequestError,
    NotAllowedError,
    RemoteEnv,
    RemoteError,
    UnauthenticatedError,
)
from envwire.codec import FaultError, Reason
from envwire.server import Server
from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.client import Client
from envwire.server._auth.scopes import Scope
from envwire.server._auth.tokens import TokenFile, new_token, read_tokens
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from tests.commands import start
from tests.secured import write_tokens
from tests.security.stranger import FIELDS, UNARY, Conversation, call, content, reason, refusal
from tests.tiers import first

NAMES: dict[str, Any] = {
    "player": [Scope.PLAY],
    "watcher": [Scope.OBSERVE],
    "boss": [Scope.ADMIN],
    "both": [Scope.PLAY, Scope.OBSERVE],
}
SEEN = {"GetServerInfo", "ListEnvironments"}
ENV = "CartPole-v1"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokens")


@pytest.fixture(scope="module")
def tokens(directory: Path) -> dict[str, str]:
    return write_tokens(directory / "tokens", NAMES)


@pytest.fixture(scope="module")
def guarded(directory: Path, tokens: dict[str, str]) -> Iterator[Server]:
    with Server([ENV], tokens=directory / "tokens") as server:
        yield server


@pytest.fixture
def channel(guarded: Server) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(guarded.target) as opened:
        yield opened


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[tuple[Server, Path, dict[str, str]]]:
    """A server whose token file the test may change."""
    path = tmp_path / "tokens"
    made = write_tokens(path, {"alice": [Scope.PLAY], "bob": [Scope.PLAY]})
    with Server([ENV], tokens=path) as server:
        yield server, path, made


def play(server: Server, token: str, **settings: Any) -> RemoteEnv:
    return RemoteEnv(server.target, ENV, credentials=Credentials(token=token), **settings)


def play_on(env: RemoteEnv) -> NoReturn:
    """Plays until something breaks: a direct channel is cut by the server's next sweep."""
    while True:
        env.reset(seed=1)


@pytest.mark.parametrize("token", [None, "", "wrong", "x" * 4000])
def test_strangers_get_nowhere(channel: grpc.Channel, token: str | None) -> None:
    for method in UNARY:
        assert call(channel, method, token) is Reason.UNAUTHENTICATED, method
    with Conversation(channel, token) as stream, pytest.raises(grpc.RpcError) as refused:
        stream.say(pb.InteractRequest(make=content("Make")).SerializeToString())
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert reason(refused.value) is Reason.UNAUTHENTICATED


def test_strangers_see_only_that_the_server_is_well(channel: grpc.Channel) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    assert stub.Check(health_pb2.HealthCheckRequest(), timeout=20).status == 1
    path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    reflection = cast("Any", channel.stream_stream(path))
    with pytest.raises(grpc.RpcError) as refused:
        list(reflection(iter([b"\x3a\x00"]), timeout=20))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_call_without_a_message_ends(channel: grpc.Channel, tokens: dict[str, str]) -> None:
    """gRPC for asyncio forgets such a call of a unary handler; with tokens the server reads the message itself."""
    method = channel.stream_unary("/envwire.v1.EnvironmentService/GetServerInfo")
    metadata = (("authorization", f"Bearer {tokens['both']}"),)
    with pytest.raises(grpc.RpcError) as raised:
        method(iter(()), timeout=10, metadata=metadata)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("name", NAMES)
def test_scopes(channel: grpc.Channel, tokens: dict[str, str], name: str) -> None:
    scopes = set(NAMES[name])
    with Conversation(channel, tokens[name]) as stream:
        for method in UNARY:
            allowed = bool(scopes - {Scope.OBSERVE}) or method in SEEN
            on_stream = pb.InteractRequest(**{FIELDS[method]: content(method)})
            answers = (
                call(channel, method, tokens[name]),
                refusal(stream.say(on_stream.SerializeToString())),
            )
            for answer in answers:
                assert (answer is not Reason.SCOPE_MISSING) is allowed, method
                assert answer is not Reason.UNAUTHENTICATED


def test_a_request_is_not_smuggled_behind_another(
    channel: grpc.Channel, tokens: dict[str, str]
) -> None:
    # Of two members of a oneof on the wire, the last counts.
    first = pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest())
    second = pb.InteractRequest(make=content("Make"))
    with Conversation(channel, tokens["watcher"]) as stream:
        message = first.SerializeToString() + second.SerializeToString()
        assert refusal(stream.say(message)) is Reason.SCOPE_MISSING


@pytest.mark.parametrize("scope", Scope)
def test_what_is_not_in_the_table_is_for_admins(scope: Scope) -> None:
    client = Client("somebody", frozenset({scope}))
    if scope is Scope.ADMIN:
        client.check("a_request_of_tomorrow")
        return
    with pytest.raises(FaultError, match="takes scope admin"):
        client.check("a_request_of_tomorrow")


@pytest.mark.parametrize("transport", first(["stream", "unary"]))
def test_the_client_says_what_to_do(
    guarded: Server, tokens: dict[str, str], transport: str
) -> None:
    with pytest.raises(UnauthenticatedError, match="ENVWIRE_TOKEN"):
        RemoteEnv(guarded.target, ENV, transport=transport)
    with pytest.raises(UnauthenticatedError, match="ask its operator"):
        play(guarded, "wrong", transport=transport)
    with pytest.raises(NotAllowedError, match="takes scope admin or play"):
        play(guarded, tokens["watcher"], transport=transport)
    env = play(guarded, tokens["player"], transport=transport)
    assert env.reset(seed=1)[0].shape == (4,)
    env.close()


def pairs(server: Server, tokens: dict[str, str]) -> list[tuple[RemoteEnv, RemoteEnv]]:
    """Returns environments of Alice and of Bob over each transport."""
    made = [
        (
            play(server, tokens["alice"], transport=transport),
            play(server, tokens["bob"], transport=transport),
        )
        for transport in ("direct", "stream", "unary")
    ]
    for theirs, ours in made:
        theirs.reset(seed=1)
        ours.reset(seed=1)
    return made


def test_a_token_that_is_revoked_ends_its_sessions_and_no_others(
    changing: tuple[Server, Path, dict[str, str]],
) -> None:
    server, path, tokens = changing
    made = pairs(server, tokens)
    path.write_text(path.read_text().replace("alice", "# alice"))
    for theirs, ours in made:
        with pytest.raises(RemoteError, match=r"does not know the token|revoked token alice"):
            play_on(theirs)
        with pytest.raises(UnauthenticatedError):
            theirs.reset()
        assert ours.step(0)[4] == {}
        ours.close()
        theirs.close()


def test_a_scope_that_is_taken_away_ends_sessions(
    changing: tuple[Server, Path, dict[str, str]],
) -> None:
    server, path, tokens = changing
    made = pairs(server, tokens)
    path.write_text(path.read_text().replace("alice play", "alice observe"))
    for theirs, ours in made:
        with pytest.raises(RemoteError, match="scope"):
            play_on(theirs)
        assert ours.step(0)[4] == {}
        ours.close()
        theirs.close()


def test_the_file_may_change_while_sessions_run(
    changing: tuple[Server, Path, dict[str, str]],
) -> None:
    server, path, tokens = changing
    env = play(server, tokens["alice"])
    env.reset(seed=1)
    path.write_text("this is no token file")
    play(server, tokens["bob"]).close()  # what it said before counts
    renewed = write_tokens(path, {"alice": [Scope.PLAY], "carol": [Scope.PLAY]})
    play(server, renewed["carol"]).close()
    with pytest.raises(UnauthenticatedError):
        play(server, tokens["alice"])
    other = play(server, renewed["alice"])
    for each in (env, other):
        each.close()


def test_a_file_that_is_gone_is_told_once_and_its_tokens_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens"
    tokens = write_tokens(path, {"alice": [Scope.PLAY]})
    file = TokenFile(str(path))
    path.unlink()
    assert all(file.find(tokens["alice"]) for _ in range(10))
    assert sum(str(path) in text for text in caplog.messages) == 1
    renewed = write_tokens(path, {"alice": [Scope.PLAY]})
    assert file.find(renewed["alice"])
    assert not file.find(tokens["alice"])


def test_comparing_takes_as_long_wherever_the_token_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = write_tokens(tmp_path / "tokens", NAMES)
    file = TokenFile(str(tmp_path / "tokens"))
    compared: list[str] = []
    original = hmac.compare_digest

    def compare(ours: str, theirs: str) -> bool:
        compared.append(ours)
        return original(ours, theirs)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for shown in (*tokens.values(), "wrong"):
        compared.clear()
        found = file.find(shown)
        assert (found is None) is (shown == "wrong")
        assert len(compared) == len(tokens)


def test_tokens_are_in_no_log_and_no_text(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path / "tokens", {"alice": [Scope.PLAY]})
    options = ("--port", "0", "--tokens", str(tmp_path / "tokens"))
    with start("serve", ENV, *options, stderr=subprocess.PIPE) as process:
        assert process.stdout
        target = process.stdout.readline().split()[1]
        RemoteEnv(target, ENV, credentials=Credentials(token=tokens["alice"])).close()
        with pytest.raises(UnauthenticatedError) as refused:
            RemoteEnv(target, ENV, credentials=Credentials(token="mistyped"))
        process.terminate()
        _, log = process.communicate(timeout=30)
        assert log is not None
    assert "for token alice" in log
    assert "turned away" in log
    for secret in (tokens["alice"], "mistyped"):
        assert secret not in log
        assert secret not in str(refused.value)
        assert secret not in (tmp_path / "tokens").read_text()
        assert secret not in repr(PeerIdentity(authorization=f"Bearer {secret}"))
        assert secret not in repr(Credentials(token=secret, cert=b"c", key=secret.encode()))


@pytest.mark.parametrize(
    ("target", "fits"),
    [
        ("localhost:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("ipv6:[::1]:1", True),
        ("unix:/run/envwire", True),
        ("dns:///localhost:1", True),
        ("192.0.2.1:1", False),
        ("localhost.example:1", False),
        ("dns:///server.example:1", False),
        ("ipv4:127.0.0.1:1,192.0.2.1:1", False),
        ("xds:///localhost:1", False),
    ],
)
def test_a_token_does_not_leave_the_machine_in_the_clear(target: str, fits: bool) -> None:
    credentials = Credentials(token="t")
    if fits:
        credentials.check_target(target)
    else:
        with pytest.raises(InvalidRequestError, match="refusing to send a token"):
            RemoteEnv(target, ENV, credentials=credentials)
    for allowed in (Credentials(insecure=True), Credentials(ca=b"-"), Credentials(tls=True)):
        dataclasses.replace(allowed, token="t").check_target(target)


def test_credentials_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CA", "CERT", "KEY"):
        monkeypatch.setenv(f"ENVWIRE_{name}", f"{name}.pem")
    (tmp_path / "token").write_text("from-a-file\n")
    monkeypatch.setenv("ENVWIRE_TOKEN_FILE", str(tmp_path / "token"))
    found = Credentials()
    assert (found.ca, found.cert, found.key) == ("CA.pem", "CERT.pem", "KEY.pem")
    assert found.token == "from-a-file"
    (tmp_path / "token").write_bytes(b"\xff\x00")
    with pytest.raises(InvalidRequestError, match="no token has"):
        Credentials()
    monkeypatch.setenv("ENVWIRE_TOKEN", "itself")
    assert Credentials().token == "itself"
    assert Credentials(token=None).metadata is None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"cert": b"c"}, "key is missing"),
        ({"key": b"k"}, "cert is missing"),
        ({"token": "two\nlines"}, "no token has"),
    ],
)
def test_credentials_that_cannot_work(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequestError, match=says):
        Credentials(**settings)


def test_a_new_token_is_what_its_line_says() -> None:
    token, line = new_token("alice", [Scope.PLAY, Scope.OBSERVE])
    [read] = read_tokens(f"# who may play\n\n{line} # since May")
    assert (read.name, read.scopes) == ("alice", frozenset({Scope.PLAY, Scope.OBSERVE}))
    assert token not in line
    assert token != new_token("alice", [Scope.PLAY])[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("alice play", "line 1"),
        ("\nalice play 0123", "line 2"),
        (f"alice fly {'0' * 64}", "unknown scope; the scopes are play"),
        (f"a play {'0' * 64}\na play {'1' * 64}", "line 2: a comes twice"),
    ],
)
def test_lines_that_are_no_tokens(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        read_tokens(text)
    assert "0000" not in str(refused.value)


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        (PeerIdentity("192.0.2.7"), "address 192.0.2.7"),
        (PeerIdentity("2001:db8::1:2:3:4"), "address 2001:db8::/64"),
        (PeerIdentity("::ffff:192.0.2.7"), "address 192.0.2.7"),
        (PeerIdentity("::1"), "address of this machine"),
        (PeerIdentity("127.0.0.1"), "address of this machine"),
        (PeerIdentity("127.8.9.10"), "address of this machine"),
        (PeerIdentity(), "address of this machine"),
        (PeerIdentity("192.0.2.7", "CN=agent"), "certificate CN=agent"),
    ],
)
def test_clients_without_tokens_are_told_apart(shown: PeerIdentity, name: str) -> None:
    config = ServerConfig((ENV,), host="192.0.2.1", insecure=True)
    client = Access(config).identify(shown)
    assert client.name == name
    assert client.scopes == {Scope.PLAY, Scope.OBSERVE}
    at_home = Access(ServerConfig((ENV,))).identify(shown).scopes
    assert at_home == {*Scope} - {Scope.ADMIN}, "environments dial their own server as well"
