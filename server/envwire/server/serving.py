"""Runs a front and its gRPC server in one event loop, from start to drain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from envwire.server._auth.secret_files import warn_of_exposed
from envwire.server._bridge import openenv_bridge
from envwire.server._front import event_loop
from envwire.server._front.farm.joining import joined
from envwire.server._front.front import Front
from envwire.server._front.grpc.server import GrpcServer
from envwire.server._front.grpc.tracing import check_installed
from envwire.server._front.http.port import http_port
from envwire.server._logs import JsonFormatter
from envwire.server._recording.folder import check_folder
from envwire.server._recording.retention import retained
from envwire.server.config import ServerConfig

_STOP_GRACE_SECONDS = 1.0


async def serve(
    config: ServerConfig, ready: Callable[[str], None], stop: asyncio.Event, token: str = ""
) -> None:
    """Serves until `stop` is set, then drains and stops.

    Args:
        config: The server's settings.
        ready: Called with HOST:PORT once requests are served.
        stop: Event that stops the server, even during its start; set it again to skip the rest of a drain.
        token: Token to join gateways with, in place of the setting's file.

    Raises:
        ForkserverError: An id is unknown, or a module cannot be imported.
        OSError: The address cannot be bound, the directory of recordings is not writable, or a package is missing.
    """
    event_loop.raise_file_limit()
    warn_of_exposed(config)
    check_folder(config)
    check_installed(config)
    # Before gRPC, whose threads a fork would not survive.
    started = await event_loop.unless_stopped(stop.wait(), Front.start(config))
    if started is None:
        return
    front = started.result()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(front.stop)
        server = GrpcServer(front, config)
        stack.push_async_callback(server.stop, _STOP_GRACE_SECONDS)
        target = await server.start()
        JsonFormatter.server = config.advertise or target
        await stack.enter_async_context(retained(config))
        await stack.enter_async_context(openenv_bridge(config, target))
        await stack.enter_async_context(http_port(config, config.http_port, front.http_routes))
        await stack.enter_async_context(joined(config, front, target, token))
        front.drain_order.on_given = stop.set
        ready(target)
        await stop.wait()
        signals = 2 if front.drain_order.given else 1
        timeout = front.drain_order.give()
        await server.say_not_serving()
        await event_loop.unless_stopped(_signalled(stop, signals), front.drain(timeout))
        await front.stop()  # clients learn why their sessions end before connections close


async def _signalled(stop: asyncio.Event, signals: int) -> None:
    """Waits for the given number of signals: after an order to drain, the first one has no effect."""
    for _ in range(signals):
        stop.clear()
        await stop.wait()


def run(config: ServerConfig, ready: Callable[[str], None]) -> None:
    """Serves in this process until SIGTERM or SIGINT; the second one stops without waiting for sessions."""

    async def main() -> None:
        await serve(config, ready, event_loop.stop_on_signals())

    event_loop.run_loop(main())
