"""TLS: nobody listens in, nobody passes for another, certificates are replaced without a restart, errors name the fix."""

from __future__ import annotations

import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from envwire.client import Credentials, RemoteEnv, TlsError
from envwire.server import Server, ServerError
from envwire.server._config import ServerConfig
from envwire.server._tls import ServerTls
from tests.secured import certificates

ENV = "CartPole-v1"
CERTS = certificates()


@pytest.fixture(scope="module")
def plain() -> Iterator[Server]:
    with Server([ENV]) as server:
        yield server


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


@pytest.mark.parametrize("transport", ["stream", "unary"])
def test_environments_behind_tls(plain: Server, tls: Server, mtls: Server, transport: str) -> None:
    expected = play(plain, Credentials(), transport=transport)
    assert play(tls, only_ca(), transport=transport) == expected
    assert play(mtls, CERTS.client(), transport=transport) == expected
    content = Credentials(**{name: CERTS.client().pem(name) for name in ("ca", "cert", "key")})
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
@pytest.mark.parametrize("transport", ["stream", "unary"])
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
    with pytest.raises(ConnectionError, match="no server answers"):
        RemoteEnv("127.0.0.1:1", ENV, credentials=only_ca(), connect_timeout=0.2)


@pytest.fixture
def changing(tmp_path: Path) -> tuple[dict[str, Path], Any]:
    """Settings of a server whose certificates the test may replace, and the function that does."""
    settings = {"tls_cert": "server", "tls_key": "server-key", "tls_client_ca": "ca"}
    paths = {name: tmp_path / f"{name}.pem" for name in settings}

    def replace(**names: str) -> None:
        for setting, name in names.items():
            shutil.copy(CERTS.path(name), paths[setting])

    replace(**settings)
    return paths, replace


@pytest.mark.parametrize("transport", ["stream", "unary"])
def test_certificates_are_replaced_without_a_restart(
    changing: tuple[dict[str, Path], Any], transport: str
) -> None:
    paths, replace = changing
    with Server([ENV], **paths) as server:
        env = RemoteEnv(server.target, ENV, transport=transport, credentials=CERTS.client())
        env.reset(seed=1)
        replace(tls_cert="other-server", tls_key="other-server-key")
        assert play(server, CERTS.client(ca=CERTS.path("other-ca")))
        with pytest.raises(TlsError, match="unknown here"):
            play(server, CERTS.client())
        replace(tls_client_ca="other-ca")
        assert play(server, CERTS.client("other-client", ca=CERTS.path("other-ca")))
        with pytest.raises(TlsError, match="does not accept"):
            play(server, CERTS.client(ca=CERTS.path("other-ca")))
        assert env.step(0)[4] == {}, "who is there already goes on"
        env.close()


@pytest.mark.parametrize("broken", [b"", b"-----BEGIN CERTIFICATE-----\nhalf", None])
def test_broken_files_leave_the_former_ones(
    changing: tuple[dict[str, Path], Any], broken: bytes | None
) -> None:
    paths, replace = changing
    with Server([ENV], **paths) as server:
        if broken is None:
            paths["tls_cert"].unlink()
        else:
            paths["tls_cert"].write_bytes(broken)
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
def test_a_server_does_not_start_with_wrong_files(settings: dict[str, Path], says: str) -> None:
    with pytest.raises(ServerError, match=says):
        Server([ENV], **settings).start()


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
        try:
            while data := source.recv(65536):
                self.seen += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("kind", "hidden"), [("plain", False), ("tls", True)])
def test_nobody_listens_in(request: pytest.FixtureRequest, kind: str, hidden: bool) -> None:
    server = request.getfixturevalue(kind)
    with closing(Relay(server.target)) as relay:
        ca = CERTS.path("ca") if hidden else None
        credentials = Credentials(ca=ca, cert=None, key=None, token="a-token-nobody-asked-for")
        env = RemoteEnv(relay.target, ENV, transport="stream", credentials=credentials)
        env.reset(seed=1)
        session: Any = env._session
        for secret in (b"a-token-nobody-asked-for", session._secret, ENV.encode()):
            assert (secret not in relay.seen) is hidden
        env.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_who_passes_for_the_server_gets_no_token() -> None:
    with Server([ENV], **CERTS.server("other-server")) as impostor:
        with closing(Relay(impostor.target)) as relay, pytest.raises(TlsError, match="unknown"):
            RemoteEnv(relay.target, ENV, credentials=only_ca(tls=True))
        assert relay.seen


def test_contexts_for_other_sockets() -> None:
    settings = {name: str(path) for name, path in CERTS.server(ask_clients=True).items()}
    server = ServerTls(ServerConfig((ENV,), **settings))  # type: ignore[arg-type]
    context = CERTS.client().ssl_context()
    assert context is not None
    ours, theirs = socket.socketpair()
    said: list[bytes] = []

    def listen() -> None:
        with server.ssl_context().wrap_socket(theirs, server_side=True) as secure:
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
    settings = {name: str(path) for name, path in CERTS.server(ask_clients=True).items()}
    context = ServerTls(ServerConfig((ENV,), **settings)).ssl_context()  # type: ignore[arg-type]
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    client = only_ca().ssl_context()
    assert client is not None
    assert client.check_hostname
    assert client.verify_mode is ssl.CERT_REQUIRED
