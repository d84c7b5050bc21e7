"""Runs a farm until the operator stops it, whatever its engine is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from envwire.server._front.event_loop import run_loop, stop_on_signals


def run_farm(farm: AbstractAsyncContextManager[str], ready: Callable[[str], None]) -> None:
    """Runs a farm until SIGTERM or SIGINT.

    Args:
        farm: Starts it, yields HOST:PORT of its gateway once all servers are there, and stops it.
        ready: Called with that address.
    """
    run_loop(_run(farm, ready))


async def _run(farm: AbstractAsyncContextManager[str], ready: Callable[[str], None]) -> None:
    stop = stop_on_signals()
    async with farm as target:
        ready(target)
        await stop.wait()
