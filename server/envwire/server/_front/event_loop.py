"""Runs a server's event loop: uvloop if available, signal handlers, and the limit of open files."""

from __future__ import annotations

import asyncio
import ctypes
import resource
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from envwire.server._ipc.allocation import keep_freed_memory, use_one_heap
from envwire.server._ipc.orphans import inherit_orphans

T = TypeVar("T")
_PR_SET_DUMPABLE = 4


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine in uvloop if installed, which relays a fifth faster, else in asyncio's own loop."""
    # Hides memory and descriptors, with keys and secrets, from the user's other processes; disables core dumps.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    inherit_orphans()
    use_one_heap()
    keep_freed_memory()
    try:
        import uvloop
    except ModuleNotFoundError:  # uvloop has no build for some platforms
        asyncio.run(main)
    else:
        uvloop.run(main)


def stop_on_signals() -> asyncio.Event:
    """Returns an event that SIGTERM and SIGINT set."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


async def unless_stopped(
    stopping: Coroutine[Any, Any, object], work: Coroutine[Any, Any, T]
) -> asyncio.Task[T] | None:
    """Awaits work; cancels it and returns None if `stopping` ends first, else returns the work's finished task."""
    done, stopped = asyncio.create_task(work), asyncio.create_task(stopping)
    try:
        await asyncio.wait({done, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return done if done.done() else None
    finally:
        for task in (done, stopped):
            task.cancel()
        await asyncio.gather(done, stopped, return_exceptions=True)


def raise_file_limit() -> None:
    """Raises the limit of open files as far as the system allows, since a session needs five in the front."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
