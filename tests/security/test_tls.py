"""TLS: no eavesdropping or impersonation, certificates change without a restart, errors name the remedy."""

from __future__ import annotations

import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from google.protobuf.message import DecodeError

from envwire.client import Credentials, RemoteEnv, TlsError
from envwire.server import Server, ServerError
from envwire.server._auth.reloading import server_tls
from envwire.server._front.grpc.edge import Configurations
from envwire.server.config import ServerConfig
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE
from tests.secured import certificates
from tests.tiers import first

ENV = "CartPole-v1"
CERTS = certificates()


@pytest.fixture
def plain(server: Server) -> Server:
    return server


@pytest.fixture(scope="module")
def tls() -> Iterator[Server]:
    with Server([ENV], **CERTS.server()) as server:
        yield server


@pytest.fixture(scope="module")
def mtls() -> Iterator[Server]:
    with Server([ENV], **CERTS.server(ask_clients=True)) as server:
        yield server


@pytest.fixture(scope="module")
def expired() -> Iterator[Server]:
    with Server([ENV], **CERTS.server("expired")) as server:
        yield server


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Server]:
    with Server([ENV], **CERTS.server("elsewhere")) as server:
        yield server


def only_ca(name: str = "ca", **settings: Any) -> Credentials:
    return Credentials(ca=CERTS.path(name), cert=None, key=None, token=None, **settings)


def play(server: Server, credentials: Credentials, **settings: Any) -> list[float]:
    """Returns the first observation of an environment."""
    env = RemoteEnv(server.target, ENV, credentials=credentials, **settings)
    with closing(env):
        return list(env.reset(seed=1)[0])


@pytest.mark.parametrize("transport", first(["stream", "unary"]))
def test_environments_behind_tls(plain: Server, tls: Server, mtls: Server, transport: str) -> None:
    expected = play(plain, Credentials(), transport=transport)
    assert play(tls, only_ca(), transport=transport) == expected
    assert play(mtls, CERTS.client(), transport=transport) == expected
    ca, cert, key = (CERTS.client().pem(name) for name in ("ca", "cert", "key"))
    content = Credentials(ca, cert, key)
    assert play(mtls, content, transport=transport) == expected


def test_another_name_may_be_expected(elsewhere: Server) -> None:
    assert play(elsewhere, only_ca(override_authority="elsewhere.example"))


@pytest.mark.parametrize(
    ("kind", "credentials", "says"),
    [
        ("tls", Credentials(token=None), "the server speaks TLS and this client does not"),
        ("mtls", Credentials(token=None), "the server speaks TLS and this client does not"),
        ("plain", only_ca(), "the server does not speak TLS"),
        ("plain", CERTS.client(), "the server does not speak TLS"),
        ("tls", only_ca("other-ca"), "comes from an authority unknown here"),
        ("expired", only_ca(), "the server's certificate has expired"),
        ("elsewhere", only_ca(), "is for another name"),
        ("mtls", only_ca(), "asks for a client certificate"),
        ("mtls", CERTS.client("other-client"), "does not accept this client's certificate"),
        ("mtls", CERTS.client("expired-client"), "does not accept this client's certificate"),
        ("mtls", CERTS.client("server"), "does not accept this client's certificate"),
        ("tls", only_ca("missing"), "cannot read ca"),
        ("tls", only_ca("ca-key"), "cannot be used"),
        ("tls", CERTS.client(key=CERTS.path("ca-key")), "cannot be used"),
    ],
)
@pytest.mark.parametrize("transport", first(["stream", "unary"]))
def test_what_is_wrong_is_said_at_once(
    request: pytest.FixtureRequest, kind: str, credentials: Credentials, says: str, transport: str
) -> None:
    server = request.getfixturevalue(kind)
    # The wait for a server to appear is longer than a test may take.
    with pytest.raises(TlsError, match=says):
        RemoteEnv(
            server.target,
            ENV,
            transport=transport,
            credentials=credentials,
            connect_timeout=1000,
        )


def test_waiting_for_a_server_behind_tls_ends() -> None:
    with pytest.raises(ConnectionError, match="nothing listens"):
        RemoteEnv("127.0.0.1:1", ENV, credentials=only_ca(), connect_timeout=1.5)


@pytest.mark.parametrize("credentials", [Credentials(token=None), only_ca(), CERTS.client()])
def test_a_connection_that_breaks_says_nothing_about_tls(credentials: Credentials) -> None:
    # What forwards a port to a server that is still starting takes connections and drops them.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=drop_all, args=(listener,), daemon=True).start()
        target = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ConnectionError, match="no server answers"):
            RemoteEnv(target, ENV, credentials=credentials, connect_timeout=0.5)
        listener.shutdown(socket.SHUT_RDWR)


def drop_all(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            listener.accept()[0].close()


@pytest.fixture
def changing(tmp_path: Path) -> tuple[dict[str, Any], Any]:
    """Settings of a server whose certificates the test may replace, and the function that does."""
    settings = {"tls_cert": "server", "tls_key": "server-key", "tls_client_ca": "ca"}
    paths = {name: tmp_path / f"{name}.pem" for name in settings}

    def replace(**names: str) -> None:
        for setting, name in names.items():
            shutil.copy(CERTS.path(name), paths[setting])

    replace(**settings)
    return paths, replace


def test_certificates_are_replaced_without_a_restart(
    changing: tuple[dict[str, Any], Any],
) -> None:
    paths, replace = changing
    with Server([ENV], **paths) as server:
        envs = [
            RemoteEnv(server.target, ENV, transport=transport, credentials=CERTS.client())
            for transport in ("stream", "unary")
        ]
        for env in envs:
            env.reset(seed=1)
        replace(tls_cert="other-server", tls_key="other-server-key")
        assert play(server, CERTS.client(ca=CERTS.path("other-ca")))
        with pytest.raises(TlsError, match="unknown here"):
            play(server, CERTS.client())
        replace(tls_client_ca="other-ca")
        assert play(server, CERTS.client("other-client", ca=CERTS.path("other-ca")))
        with pytest.raises(TlsError, match="does not accept"):
            play(server, CERTS.client(ca=CERTS.path("other-ca")))
        for env in envs:
            assert env.step(0)[4] == {}, "who is there already goes on"
            env.close()


def test_grpc_is_told_of_certificates_when_they_change_and_not_before(
    changing: tuple[dict[str, Any], Any],
) -> None:
    """It asks at each handshake, and crashes if a new answer replaces one that another handshake is about to use."""
    paths, replace = changing
    settings: dict[str, Any] = {name: str(path) for name, path in paths.items()}
    tls = server_tls(ServerConfig((ENV,), **settings))
    assert tls is not None
    ours = Configurations(tls)
    assert ours.changed() is not None
    assert ours.changed() is None
    replace(tls_cert="other-server", tls_key="other-server-key")
    assert ours.changed() is not None
    assert ours.changed() is None


def test_a_crowd_of_strangers_does_no_harm(mtls: Server) -> None:
    """Without the certificate that the server asks for, many at once, again and again."""
    host, _, port = mtls.target.rpartition(":")
    context = ssl.create_default_context(cafile=str(CERTS.path("ca")))
    context.set_alpn_protocols(["h2"])

    def shake_hands() -> None:
        for _ in range(60):
            with (
                suppress(OSError),
                socket.create_connection((host, int(port)), 10.0) as plain,
                context.wrap_socket(plain, server_hostname="localhost"),
            ):
                pass

    crowd = [threading.Thread(target=shake_hands) for _ in range(8)]
    for stranger in crowd:
        stranger.start()
    for stranger in crowd:
        stranger.join()
    assert play(mtls, CERTS.client())


def test_broken_files_leave_the_former_ones(changing: tuple[dict[str, Any], Any]) -> None:
    paths, replace = changing
    with Server([ENV], **paths) as server:
        for broken in (b"", b"-----BEGIN CERTIFICATE-----\nhalf"):
            paths["tls_cert"].write_bytes(broken)
            assert play(server, CERTS.client()), broken
        paths["tls_cert"].unlink()
        assert play(server, CERTS.client())
        replace(tls_cert="other-server")  # its key has not followed yet
        assert play(server, CERTS.client())
        replace(tls_key="other-server-key")
        assert play(server, CERTS.client(ca=CERTS.path("other-ca")))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"tls_cert": CERTS.path("missing"), "tls_key": CERTS.path("server-key")}, "missing"),
        ({"tls_cert": CERTS.path("server"), "tls_key": CERTS.path("ca-key")}, "belong together"),
        ({**CERTS.server(), "tls_client_ca": CERTS.path("ca-key")}, "holds no certificate"),
    ],
)
def test_files_that_cannot_be_used_are_told(settings: dict[str, Any], says: str) -> None:
    with pytest.raises((OSError, ValueError), match=says):
        server_tls(ServerConfig((ENV,), **{name: str(path) for name, path in settings.items()}))


def test_a_server_does_not_start_with_wrong_files() -> None:
    with pytest.raises(ServerError, match="missing"):
        Server([ENV], **CERTS.server("missing")).start()


class Relay(threading.Thread):
    """A man in the middle: passes everything on, and keeps a copy."""

    def __init__(self, target: str) -> None:
        super().__init__(daemon=True)
        host, _, port = target.rpartition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.target = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.seen = bytearray()
        self.start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            onward = socket.create_connection(self._server)
            for pair in ((connection, onward), (onward, connection)):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with source, suppress(OSError):
            while data := source.recv(65536):
                self.seen += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.mark.parametrize(("kind", "hidden"), [("plain", False), ("tls", True)])
def test_nobody_listens_in(request: pytest.FixtureRequest, kind: str, hidden: bool) -> None:
    server = request.getfixturevalue(kind)
    with closing(Relay(server.target)) as relay:
        ca = CERTS.path("ca") if hidden else None
        credentials = Credentials(ca=ca, cert=None, key=None, token="a-token-nobody-asked-for")
        env: Any = RemoteEnv(relay.target, ENV, transport="stream", credentials=credentials)
        env.reset(seed=1)
        for secret in (
            b"a-token-nobody-asked-for",
            env._handle.driver.session.identity.secret,
            ENV.encode(),
        ):
            assert (secret not in relay.seen) is hidden
        env.close()


class Impostor(threading.Thread):
    """Answers instead of the server, with a certificate of another authority, and records what it receives."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(CERTS.path("other-server"), CERTS.path("other-server-key"))
        self._context.set_alpn_protocols(["h2"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.target = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked = 0
        self.heard = b""
        self.start()

    def run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.asked += 1
                with connection, suppress(ssl.SSLError, ConnectionError):
                    self._listen_to(connection)

    def _listen_to(self, connection: socket.socket) -> None:
        with self._context.wrap_socket(connection, server_side=True) as secure:
            self.heard += secure.recv(9)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.mark.parametrize("name", ["ca", "other-ca"])
def test_who_passes_for_the_server_is_told_nothing(name: str) -> None:
    credentials = Credentials(ca=CERTS.path(name), cert=None, key=None, token="a-token")
    with closing(Impostor()) as impostor, pytest.raises(ConnectionError):
        RemoteEnv(impostor.target, ENV, credentials=credentials, connect_timeout=1.0)
    assert impostor.asked
    assert bool(impostor.heard) is (name == "other-ca"), "it hears something once it is trusted"


def welcomed_in_the_clear(address: str, made: pb.MakeResponse) -> bool:
    """Returns whether a direct channel to the session opens there without TLS."""
    owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    hello = direct_pb2.HelloRequest(header=owner)
    message = hello.SerializeToString()
    with socket.create_connection(("127.0.0.1", int(address[1:])), 10) as connection:
        connection.sendall(PREAMBLE + HEADER.pack(len(message), 0, 0) + message)
        with suppress(ConnectionError, DecodeError):
            answer = connection.recv(4096)[HEADER_BYTES:]
            return direct_pb2.HelloResponse.FromString(answer).HasField("welcome")
    return False


@pytest.mark.parametrize(("kind", "clear"), [("plain", True), ("tls", False)])
def test_no_port_of_a_server_with_tls_speaks_in_the_clear(
    request: pytest.FixtureRequest, kind: str, clear: bool
) -> None:
    target = request.getfixturevalue(kind).target
    ca = grpc.ssl_channel_credentials(CERTS.path("ca").read_bytes())
    with grpc.insecure_channel(target) if clear else grpc.secure_channel(target, ca) as channel:
        make = cast("Any", channel.unary_unary("/envwire.v1.EnvironmentService/Make"))
        asked = pb.MakeRequest(env_id=ENV).SerializeToString()
        made = pb.MakeResponse.FromString(make(asked, timeout=20))
    ports = [address for address in made.direct.addresses if address.startswith(":")]
    assert any(welcomed_in_the_clear(port, made) for port in ports) is clear


def test_contexts_for_other_sockets() -> None:
    settings: dict[str, Any] = CERTS.server(ask_clients=True)
    server = server_tls(ServerConfig((ENV,), **settings))
    assert server is not None
    context = CERTS.client().ssl_context()
    assert context is not None
    ours, theirs = socket.socketpair()
    said: list[bytes] = []

    def listen() -> None:
        with server.get().context.wrap_socket(theirs, server_side=True) as secure:
            said.append(secure.recv(5))
            said.append(str(secure.getpeercert()).encode())

    thread = threading.Thread(target=listen)
    thread.start()
    with context.wrap_socket(ours, server_hostname="localhost") as secure:
        secure.sendall(b"hello")
        thread.join(20)
    assert said[0] == b"hello"
    assert b"agent" in said[1]
    assert Credentials(ca=None, cert=None, key=None).ssl_context() is None


def test_contexts_refuse_strangers() -> None:
    settings: dict[str, Any] = CERTS.server(ask_clients=True)
    server = server_tls(ServerConfig((ENV,), **settings))
    assert server is not None
    context = server.get().context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    client = only_ca().ssl_context()
    assert client is not None
    assert client.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert client.check_hostname
    assert client.verify_mode is ssl.CERT_REQUIRED
