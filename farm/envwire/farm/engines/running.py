"""Runs a farm of any engine until the operator stops it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from envwire.server._front.event_loop import run_loop, stop_on_signals, unless_stopped


def run_farm(farm: AbstractAsyncContextManager[str], ready: Callable[[str], None]) -> None:
    """Runs a farm until SIGTERM or SIGINT, which may come while it starts.

    Args:
        farm: Starts the farm, yields HOST:PORT of its gateway once all servers are registered, and stops the farm.
        ready: Called with that address.
    """
    run_loop(_run(farm, ready))


async def _run(farm: AbstractAsyncContextManager[str], ready: Callable[[str], None]) -> None:
    stop = stop_on_signals()
    async with AsyncExitStack() as stack:
        if started := await unless_stopped(stop.wait(), stack.enter_async_context(farm)):
            ready(started.result())
            await stop.wait()
