"""Starts and stops a bridge's process, for the server."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from envwire.server._bridges.openenv.settings import BridgeSettings
from envwire.server._ipc.orphans import spared
from envwire.server.config import ServerConfig

READY = "ready"
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0


@asynccontextmanager
async def openenv_bridge(config: ServerConfig, target: str) -> AsyncGenerator[None]:
    """Runs the bridge for OpenEnv's clients, if the server is to have one.

    Args:
        config: The server's settings.
        target: HOST:PORT that the server is bound to.

    Raises:
        OSError: The bridge did not start; the message says why.
    """
    if not config.openenv:
        yield
        return
    # A session of its own: Ctrl-C is for the server, which drains while the bridge still serves.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "envwire.server._bridges.openenv"),
        stdin=PIPE,
        stdout=PIPE,
        start_new_session=True,
    )
    spared.add(process.pid)
    try:
        await _start(process, BridgeSettings.of(config, target))
        yield
    finally:
        await _stop(process)


async def _start(process: Process, settings: BridgeSettings) -> None:
    """Sends the settings and waits until the bridge serves."""
    if process.stdin is None or process.stdout is None:
        raise OSError("the process of the OpenEnv bridge has no pipes")
    process.stdin.write(settings.to_json().encode() + b"\n")
    try:
        said = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
    except asyncio.TimeoutError:
        raise OSError(f"the OpenEnv bridge did not start within {_START_SECONDS:g} s") from None
    if (line := said.decode().strip()) != READY:
        raise OSError(
            line or "the OpenEnv bridge ended before it was ready; its output above says why"
        )


async def _stop(process: Process) -> None:
    """Closes its standard input, which ends it; kills it when it takes long."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    except asyncio.TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
