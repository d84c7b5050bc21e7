"""Serving: a front and its gRPC server from start to drain, in one event loop."""

from __future__ import annotations

import asyncio
import resource
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from envwire.server._auth.secret_files import warn_of_exposed
from envwire.server._bridges.process import openenv_bridge
from envwire.server._front.front import Front
from envwire.server._front.grpc_server import GrpcServer
from envwire.server._ipc.allocation import keep_freed_memory, use_one_heap
from envwire.server._ipc.hidden_memory import hide_memory
from envwire.server.config import ServerConfig

_STOP_GRACE_SECONDS = 1.0


async def serve(config: ServerConfig, ready: Callable[[str], None], stop: asyncio.Event) -> None:
    """Serves until `stop` is set, then drains and stops.

    Args:
        config: The server's settings.
        ready: Called with HOST:PORT once requests are served.
        stop: Ends it; set it again while draining to skip the rest of the wait.

    Raises:
        ForkserverError: An id is unknown, or a module cannot be imported.
        OSError: The address cannot be bound.
    """
    _raise_file_limit()
    warn_of_exposed(config)
    front = await Front.start(config)  # before gRPC, whose threads a fork would not survive
    try:
        await _serve_front(front, config, ready, stop)
    finally:
        await front.stop()


async def _serve_front(
    front: Front, config: ServerConfig, ready: Callable[[str], None], stop: asyncio.Event
) -> None:
    server = GrpcServer(front, config)
    try:
        target = await server.start()
        async with openenv_bridge(config, target):
            ready(target)
            await stop.wait()
            await server.say_not_serving()
            await _drain(front, config.drain_timeout, stop)
            await front.stop()  # what ends the sessions is told before the connections go
    finally:
        await server.stop(_STOP_GRACE_SECONDS)


async def _drain(front: Front, timeout: float, stop: asyncio.Event) -> None:
    stop.clear()
    again = asyncio.ensure_future(stop.wait())
    drained = asyncio.ensure_future(front.drain(timeout))
    await asyncio.wait({again, drained}, return_when=asyncio.FIRST_COMPLETED)
    for task in (again, drained):
        task.cancel()


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Runs the server's process, in the fastest event loop that is installed: relaying costs a fifth less on uvloop."""
    hide_memory()
    use_one_heap()
    keep_freed_memory()
    try:
        import uvloop
    except ModuleNotFoundError:  # it is not built for every platform
        asyncio.run(main)
    else:
        uvloop.run(main)


def _raise_file_limit() -> None:
    """Allows as many open files as the system lets us: a session needs five here."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run(config: ServerConfig, ready: Callable[[str], None]) -> None:
    """Serves in this process until SIGTERM or SIGINT; the second one stops without waiting for sessions."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await serve(config, ready, stop)

    run_loop(main())
