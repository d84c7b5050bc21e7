"""Runs the dashboard's HTTP server until it is told to stop."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn

from envwire.client import Credentials
from envwire.dashboard.app import Dashboard
from envwire.dashboard.channels import Channels
from envwire.dashboard.watching import Watcher

#: Open streams would keep the server from stopping, so it does not wait longer for them.
_STOP_SECONDS = 1


class _Uvicorn(uvicorn.Server):
    """A uvicorn server that reports when it is ready, and stops cleanly on signals."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], lifeline: int | None
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._lifeline = lifeline

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Exits with status 0 on SIGTERM and Ctrl-C; uvicorn's own handler raises the signal again at the end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        if self._lifeline is not None:
            loop.add_reader(self._lifeline, self._stop)
        yield

    def _stop(self) -> None:
        self.should_exit = True


def run(
    targets: list[str],
    host: str,
    port: int,
    ready: Callable[[str], None],
    lifeline: int | None = None,
) -> None:
    """Serves the page until SIGTERM or Ctrl-C.

    Args:
        targets: Servers and gateways to watch, HOST:PORT.
        host: Address to bind.
        port: Port to bind; 0 for any free one.
        ready: Called with the page's URL, which includes its key, once it is served.
        lifeline: File descriptor that stops the server when it is closed at the other end.

    Raises:
        ValueError: The token would be sent over an unprotected connection.
        OSError: The address is in use or does not belong to this machine, or a certificate cannot be used.
    """
    credentials = Credentials()
    credentials.ssl_context()  # reports what is wrong with the certificates
    for target in targets:
        credentials.check_target(target)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as bound:
        key = secrets.token_urlsafe(16)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{bound.getsockname()[1]}/#key={key}"
        channels = Channels(credentials)
        app = Dashboard(Watcher(targets, channels), channels).app(key)
        config = uvicorn.Config(
            app, log_level="warning", timeout_graceful_shutdown=_STOP_SECONDS, lifespan="on"
        )
        _Uvicorn(config, lambda: ready(address), lifeline).run(sockets=[bound])
