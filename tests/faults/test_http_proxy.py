"""A proxy in the environment, as in every corporate network: no connection to this machine goes through it."""

from __future__ import annotations

import asyncio
import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from envwire.client import Credentials, RemoteEnv, ServerUnavailableError, aio
from envwire.server import Server
from tests.commands import envwire
from tests.conftest import SETTINGS
from tests.farm.scene import SECONDS, Gateway
from tests.faults.scene import eventually

ENV = "CartPole-v1"
#: The variables that gRPC reads, in both libraries of it.
VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
PLAIN: dict[str, Any] = {"ca": None, "cert": None, "key": None, "token": None}


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names a proxy that is not there."""
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in VARIABLES:
        monkeypatch.setenv(name, "http://127.0.0.1:1")


@pytest.mark.usefixtures("proxied")
@pytest.mark.parametrize("transport", ["unary", "stream", "direct"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_environment_here_needs_no_proxy(server: Server, host: str, transport: str) -> None:
    target = server.target.replace("127.0.0.1", host)
    for credentials in (Credentials(**PLAIN), Credentials(**PLAIN, http_proxy=True)):
        with closing(RemoteEnv(target, ENV, transport=transport, credentials=credentials)) as env:
            env.reset(seed=1)
            env.step(0)


@pytest.mark.usefixtures("proxied")
def test_asyncio_needs_no_proxy(server: Server) -> None:
    async def play() -> None:
        async with aio.RemoteEnv(server.target, ENV, transport="stream") as env:
            await env.reset(seed=1)
            await env.step(0)

    asyncio.run(play())


@pytest.mark.usefixtures("proxied")
@pytest.mark.parametrize(
    "command",
    [
        ("health",),
        ("list",),
        ("sessions",),
        ("conformance", "--run", "info.limits-are-told*"),
    ],
    ids=" ".join,
)
def test_commands_need_no_proxy(server: Server, command: tuple[str, ...]) -> None:
    name, *options = command
    ran = envwire(name, server.target, *options)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow  # as all farms
@pytest.mark.usefixtures("proxied")
@pytest.mark.parametrize("tunnel", [True, False])
def test_a_farm_needs_no_proxy(tunnel: bool) -> None:
    gateway = Gateway().start()
    try:
        with Server([ENV], **SETTINGS, join=[gateway.target], tunnel=tunnel):
            assert eventually(lambda: "FREE" in gateway.states().values(), SECONDS)
            for transport in ("unary", "stream"):
                with closing(RemoteEnv(gateway.target, ENV, transport=transport)) as env:
                    env.reset(seed=1)
                    env.step(0)
    finally:
        gateway.kill()


class Proxy(socketserver.ThreadingTCPServer):
    """An HTTP proxy that connects to one port, whatever it is asked for, or refuses."""

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.asked: list[str] = []
        self.refuses = False
        self.there = ("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Tunnel(socketserver.StreamRequestHandler):
    """One connection through the proxy."""

    server: Proxy

    def handle(self) -> None:
        head = b"".join(iter(self.rfile.readline, b"\r\n"))
        self.server.asked.append(head.split()[1].decode())
        if self.server.refuses:
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            return
        with socket.create_connection(self.server.there) as there:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            peers = {self.connection: there, there: self.connection}
            while True:
                for ready in select.select(list(peers), [], [])[0]:
                    if not (data := ready.recv(65536)):
                        return
                    peers[ready].sendall(data)


@pytest.fixture
def proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    for name in (*VARIABLES, "no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Proxy(int(server.target.rpartition(":")[2])) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        serving = threading.Thread(target=proxy.serve_forever, args=(0.05,))
        serving.start()
        yield proxy
        proxy.shutdown()
        serving.join()


ELSEWHERE = "envs.example.com:50051"


@pytest.mark.parametrize("transport", ["unary", "stream"])
def test_a_client_may_use_the_proxy(proxy: Proxy, transport: str) -> None:
    credentials = Credentials(**PLAIN, http_proxy=True)
    with closing(RemoteEnv(ELSEWHERE, ENV, transport=transport, credentials=credentials)) as env:
        env.reset(seed=1)
    assert ELSEWHERE in proxy.asked


def test_a_variable_allows_the_proxy(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVWIRE_HTTP_PROXY", "1")
    with closing(RemoteEnv(ELSEWHERE, ENV, transport="unary")) as env:
        env.reset(seed=1)
    assert ELSEWHERE in proxy.asked


def test_no_proxy_is_honoured(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "other.example.org, .example.com")
    credentials = Credentials(**PLAIN, http_proxy=True)
    with pytest.raises(ServerUnavailableError):
        RemoteEnv(ELSEWHERE, ENV, connect_timeout=0.5, credentials=credentials)
    assert not proxy.asked


@pytest.mark.parametrize("gone", [False, True])
def test_an_error_names_the_variable_of_the_proxy(
    proxy: Proxy, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.refuses = True
    if gone:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    credentials = Credentials(**PLAIN, http_proxy=True)
    with pytest.raises(ServerUnavailableError, match="proxy that the variable http_proxy names"):
        RemoteEnv(ELSEWHERE, ENV, transport="unary", credentials=credentials)
