"""A server at the other end of a wide-area link: a network namespace, and a process that carries the packets there.

Packets come late and at a rate, so that both kernels' TCP sees such a link. It needs root, and Linux with TUN devices.
"""

from __future__ import annotations

import multiprocessing
import socket
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from envwire.server import Server
from envwire.server._auth.scopes import Scope
from tests.faults.network import THERE, Network, Weather, why_not
from tests.secured import certificates, write_tokens

#: The direct ports of a server without TLS, and of one with TLS and a token.
PLAIN, SECURE = 7003, 7004
_SETTINGS: dict[str, Any] = {
    "imports": ["benchmarks.wide_area_envs"],
    "sys_path": (str(Path(__file__).parents[1]),),
    "host": THERE,
    "insecure": True,
    "allow_kwargs": ["shape", "noisy"],
}


@contextmanager
def _there(network: Network, secure: dict[str, Any]) -> Generator[tuple[str, str]]:
    """Yields the addresses of two servers at the other end of the wire, without TLS and with it."""
    servers = (
        Server(["wide/*"], direct_port=PLAIN, **_SETTINGS),
        Server(["wide/*"], direct_port=SECURE, **_SETTINGS, **secure),
    )
    for server in servers:
        network.over_there(server.start)
    try:
        yield servers[0].target, servers[1].target
    finally:
        for server in servers:
            server.stop()


def _carry(orders: Connection, secure: dict[str, Any]) -> None:
    """Carries the packets; tells the servers' addresses, and takes orders for the weather."""
    with Network() as network, _there(network, secure) as targets:
        orders.send(targets)
        while (weather := orders.recv()) is not None:
            network.weather = weather
            orders.send(None)


class Wire:
    """The process that carries the packets.

    Attributes:
        target: Address of the server without TLS.
        secure_target: Address of the one with TLS and a token.
        credentials: For that.
    """

    def __init__(self) -> None:
        if reason := why_not():
            raise SystemExit(reason)
        context = multiprocessing.get_context("spawn")
        self._orders, theirs = context.Pipe()
        self._folder = tempfile.TemporaryDirectory()
        tokens, files = Path(self._folder.name) / "tokens", certificates()
        token = write_tokens(tokens, {"agent": [Scope.PLAY]})["agent"]
        self.credentials = files.client(
            cert=None, key=None, token=token, override_authority="localhost"
        )
        secure = files.server() | {"tokens": tokens}
        self._process = context.Process(target=_carry, args=(theirs, secure))
        self._process.start()
        theirs.close()  # so that the end of the process is noticed
        self.target: str
        self.secure_target: str
        self.target, self.secure_target = self._orders.recv()

    def set(self, weather: Weather) -> None:
        """Changes what happens to packets."""
        self._orders.send(weather)
        self._orders.recv()

    def close(self) -> None:
        """Takes all down."""
        self._orders.send(None)
        self._process.join()
        self._folder.cleanup()


def round_trip() -> float:
    """Returns the seconds that connecting to the other end takes."""
    begun = time.perf_counter()
    with socket.create_connection((THERE, PLAIN), 10.0):
        return time.perf_counter() - begun
