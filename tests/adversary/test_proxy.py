"""The proxy of docker/haproxy.cfg passes only complete and short headers to a server; clients are not affected."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv, RemoteVectorEnv, ServerUnavailableError, UnauthenticatedError
from tests.adversary import http2
from tests.adversary.client import RefusedError
from tests.adversary.ledger import balanced, eventually, peak_within, processor_time_within
from tests.adversary.servers import Target, attacked
from tests.adversary.tokens import Tokens
from tests.conftest import ROOT
from tests.secured import Certificates, certificates

CARTPOLE = "CartPole-v1"
HAPROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CROWD, CONNECTIONS = 50, 100
#: What a crowd may cost the server, and what the proxy takes for it.
OF_THE_SERVER, OF_THE_PROXY, SECONDS = 2**20, 16 * 2**20, 1.0
SILENT = {"nothing": b"", "half a preface": http2.PREFACE[:10], "no headers": http2.PREFACE}
ENDLESS: dict[str, Callable[[], Iterator[bytes]]] = {
    "many fields": lambda: http2.headers_without_end(3000),
    "one field": lambda: http2.a_field_without_end(3000),
    "empty frames": lambda: http2.continued_with_nothing(100_000),
}
#: Those that are tried each time.
SHORT = ("many fields", "no headers")

pytestmark = pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed")


@pytest.fixture(scope="module")
def secured() -> Certificates:
    return certificates()


@pytest.fixture(scope="module")
def tokens() -> Iterator[Tokens]:
    with Tokens("alice") as tokens:
        yield tokens


@pytest.fixture
def target(secured: Certificates, tokens: Tokens) -> Iterator[Target]:
    ca = secured.path("ca").read_bytes()
    settings = {**secured.server(), "direct_port": -1, "lease": 5.0}
    with attacked(CARTPOLE, tokens=tokens, ca=ca, **settings) as target:
        yield target


class Proxy:
    """HAProxy with the configuration that we ship, in front of a server."""

    def __init__(self, server: str, secured: Certificates, directory: str) -> None:
        pair = os.path.join(directory, "proxy.pem")
        with open(pair, "wb") as both:
            for name in ("server", "server-key"):
                both.write(secured.path(name).read_bytes())
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self._settings = {
            "ENVWIRE_PROXY_BIND": self.address,
            "ENVWIRE_PROXY_CERT": pair,
            "ENVWIRE_PROXY_SERVER": server.replace("localhost", "127.0.0.1"),
            "ENVWIRE_PROXY_CA": str(secured.path("ca")),
            "ENVWIRE_PROXY_NAME": "localhost",
            "ENVWIRE_PROXY_CONNECTIONS": str(CONNECTIONS),
        }
        self.start()

    def start(self) -> None:
        """Starts it, and waits until it listens."""
        command = [str(HAPROXY), "-db", "-f", os.path.join(ROOT, "docker", "haproxy.cfg")]
        self._process = subprocess.Popen(command, env={**os.environ, **self._settings})
        assert eventually(self._listens), "HAProxy does not listen"

    def _listens(self) -> bool:
        host, _, port = self.address.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1.0):
            return True
        return False

    def kill(self) -> None:
        """Ends it at once, with all connections."""
        self._process.kill()
        self._process.wait(60)

    def seen(self, target: Target) -> Target:
        """Returns the proxy as something to attack, as clients of the server see it."""
        return replace(target, address=self.address, pid=self._process.pid)


@pytest.fixture
def proxy(
    target: Target, secured: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    proxy = Proxy(target.address, secured, str(tmp_path_factory.mktemp("proxy")))
    yield proxy
    proxy.kill()


def connect(proxy: Proxy, target: Target, stack: ExitStack) -> socket.socket:
    host, _, port = proxy.address.rpartition(":")
    context = ssl.create_default_context(cadata=(target.ca or b"").decode())
    context.set_alpn_protocols(["h2"])
    plain = stack.enter_context(socket.create_connection((host, int(port)), timeout=10.0))
    return stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))


def tell(connection: socket.socket, said: Iterable[bytes]) -> None:
    """Sends as long as the proxy listens."""
    with contextlib.suppress(OSError):
        for part in said:
            connection.sendall(part)


def is_closed(connection: socket.socket) -> bool:
    """Returns whether the proxy ends a connection within the socket's timeout, regardless of earlier data."""
    with contextlib.suppress(OSError):
        try:
            while connection.recv(2**16):
                pass
        except TimeoutError:
            return False
    return True


@contextlib.contextmanager
def unmoved(target: Target, proxy: Proxy) -> Iterator[None]:
    """Checks that a crowd costs the server nothing, and the proxy little."""
    seen = proxy.seen(target)
    with target.attacker(token=target.token) as visitor:
        visitor.info()  # what the first call takes, and keeps, is no stranger's doing
    with (
        balanced(target),
        peak_within(target, OF_THE_SERVER),
        processor_time_within(target, SECONDS),
        peak_within(seen, OF_THE_PROXY),
        processor_time_within(seen, CROWD * SECONDS),
    ):
        yield


def kinds(said: Iterable[str]) -> list[Any]:
    return [
        pytest.param(each, marks=() if each in SHORT else pytest.mark.long, id=each)
        for each in said
    ]


@pytest.mark.parametrize("said", kinds(ENDLESS))
def test_headers_without_an_end_do_not_reach_the_server(
    target: Target, proxy: Proxy, said: str
) -> None:
    with unmoved(target, proxy), ExitStack() as stack:
        crowd = [connect(proxy, target, stack) for _ in range(CROWD)]
        for each in crowd:
            tell(each, [http2.PREFACE, *ENDLESS[said]()])
        assert all(map(is_closed, crowd))


@pytest.mark.parametrize("said", kinds(SILENT))
def test_strangers_that_say_nothing_are_sent_away(target: Target, proxy: Proxy, said: str) -> None:
    with unmoved(target, proxy), ExitStack() as stack:
        crowd = [connect(proxy, target, stack) for _ in range(CROWD)]
        for each in crowd:
            tell(each, [SILENT[said]])
        assert all(map(is_closed, crowd))


def test_long_headers_are_refused_by_the_proxy(target: Target, proxy: Proxy) -> None:
    with (
        proxy.seen(target).attacker(token="x" * 5000) as stranger,
        pytest.raises(RefusedError, match="PERMISSION_DENIED"),
    ):
        stranger.info()


def test_an_address_has_so_many_connections(target: Target, proxy: Proxy) -> None:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            connect(proxy, target, stack)
        with pytest.raises(ConnectionError):
            connect(proxy, target, stack)
    with proxy.seen(target).attacker(token=target.token) as visitor:
        assert eventually(lambda: visitor.healthy(1.0))


@pytest.fixture
def alice(monkeypatch: pytest.MonkeyPatch, secured: Certificates, tokens: Tokens) -> None:
    monkeypatch.setenv("ENVWIRE_CA", str(secured.path("ca")))
    monkeypatch.setenv("ENVWIRE_TOKEN", tokens["alice"])


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("transport", ["stream", "unary"])
def test_a_client_behind_the_proxy_steps_as_without_it(
    target: Target, proxy: Proxy, transport: str
) -> None:
    with (
        RemoteEnv(proxy.address, CARTPOLE, transport=transport) as behind,
        RemoteEnv(target.address, CARTPOLE, transport=transport) as direct,
    ):
        for env in (behind, direct):
            env.reset(seed=3)
        np.testing.assert_equal(behind.step(1), direct.step(1))
        proxy.kill()
        proxy.start()
        np.testing.assert_equal(behind.step(0), direct.step(0))


@pytest.mark.usefixtures("alice")
def test_a_vector_steps_through_the_proxy(target: Target, proxy: Proxy) -> None:
    with (
        contextlib.closing(RemoteVectorEnv(proxy.address, CARTPOLE, 4, sessions=2)) as behind,
        contextlib.closing(RemoteVectorEnv(target.address, CARTPOLE, 4, sessions=2)) as direct,
    ):
        np.testing.assert_equal(behind.reset(seed=1), direct.reset(seed=1))
        np.testing.assert_equal(behind.step([0, 1, 0, 1]), direct.step([0, 1, 0, 1]))


@pytest.mark.usefixtures("alice")
def test_a_session_ends_with_its_lease_when_its_client_left_the_proxy(
    target: Target, proxy: Proxy
) -> None:
    env = RemoteEnv(proxy.address, CARTPOLE, transport="stream")
    env.reset(seed=0)
    proxy.kill()
    with target.attacker(token=target.token) as visitor:
        assert eventually(lambda: visitor.info().active_sessions == 0)
    proxy.start()
    env.close()


@pytest.mark.usefixtures("alice")
def test_a_server_that_is_gone_behind_the_proxy_is_unavailable(
    target: Target, proxy: Proxy
) -> None:
    env = RemoteEnv(proxy.address, CARTPOLE, transport="stream")
    env.reset(seed=0)
    os.kill(target.pid, 9)
    with pytest.raises(ServerUnavailableError):
        env.step(0)


def test_the_server_behind_the_proxy_asks_for_a_token(
    target: Target, proxy: Proxy, alice: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENVWIRE_TOKEN")
    with pytest.raises(UnauthenticatedError):
        RemoteEnv(proxy.address, CARTPOLE)
