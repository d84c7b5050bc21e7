"""Runs a front and its gRPC server in one event loop, from start to drain, and the OpenEnv bridge if asked for."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import Any

from envwire.server._auth.secret_files import warn_of_exposed
from envwire.server._front import event_loop
from envwire.server._front.farm.joining import joined
from envwire.server._front.front import Front
from envwire.server._front.grpc.grpc_server import GrpcServer
from envwire.server._front.grpc.tracing import check_installed
from envwire.server._front.http_port import http_port
from envwire.server._ipc.child_program import ChildProgram
from envwire.server._ipc.orphans import spared
from envwire.server._logs import JsonFormatter, TextFormatter
from envwire.server._recording.folder import check_folder, retained
from envwire.server._settings.listening import local_target
from envwire.server.config import ServerConfig

_PROGRAM = "envwire.openenv"
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0


@asynccontextmanager
async def openenv_bridge(config: ServerConfig, target: str) -> AsyncGenerator[None]:
    """Runs the OpenEnv bridge, if the settings ask for one.

    Args:
        config: The server's settings.
        target: HOST:PORT that the server is bound to.

    Raises:
        OSError: The bridge did not start; the message says why.
    """
    if not config.openenv:
        yield
        return
    if find_spec(_PROGRAM) is None:
        raise OSError(
            f"{_PROGRAM} is not installed; --openenv needs: pip install 'envwire[openenv]', or in a clone: "
            "pip install ./integrations/openenv"
        )
    bridge = ChildProgram(_PROGRAM)
    spared.add(bridge.pid)
    try:
        settings = json.dumps(_settings(config, target))
        await bridge.start("the OpenEnv bridge", settings, _START_SECONDS)
        yield
    finally:
        bridge.end_input()
        await bridge.stop(_STOP_SECONDS)


def _settings(config: ServerConfig, target: str) -> dict[str, Any]:
    """Returns what the bridge reads into its `BridgeSettings`."""
    return {
        "target": local_target(target),
        "host": config.host,
        "port": config.openenv,
        # One per session, and as many again for clients that come, go or ask for /health.
        "max_connections": 2 * config.max_sessions + 16,
        "max_message_bytes": config.max_message_bytes,
        "idle_timeout": config.max_lease,
        "tls_cert": os.fspath(config.tls_cert),
        "tls_key": os.fspath(config.tls_key),
        "loopback": config.loopback,
    }


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
        TextFormatter.server = JsonFormatter.server if config.join else ""
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
