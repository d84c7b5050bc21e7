"""Starts and stops a bridge's process, for the server."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
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
    # Not the event loop's own way to start one: that runs gRPC's fork handlers, which ended the child with gRPC 1.75.
    process = subprocess.Popen(
        [sys.executable, "-m", "envwire.server._bridges.openenv"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    spared.add(process.pid)
    try:
        await _start(process, BridgeSettings.of(config, target))
        yield
    finally:
        await _stop(process)


async def _start(process: subprocess.Popen[bytes], settings: BridgeSettings) -> None:
    """Sends the settings and waits until the bridge serves."""
    answered = asyncio.to_thread(_introduce, process, settings)
    try:
        said = await asyncio.wait_for(answered, _START_SECONDS)
    except asyncio.TimeoutError:
        process.kill()  # which ends the wait in the thread
        raise OSError(f"the OpenEnv bridge did not start within {_START_SECONDS:g} s") from None
    if said != READY:
        raise OSError(
            said or "the OpenEnv bridge ended before it was ready; its output above says why"
        )


def _introduce(process: subprocess.Popen[bytes], settings: BridgeSettings) -> str:
    """Sends the settings, and returns the line that the bridge answers; an empty one when it is gone."""
    if process.stdin is None or process.stdout is None:
        raise OSError("the process of the OpenEnv bridge has no pipes")
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(settings.to_json().encode() + b"\n")
        process.stdin.flush()
    return process.stdout.readline().decode().strip()


async def _stop(process: subprocess.Popen[bytes]) -> None:
    """Closes its pipes, which ends it; kills it when it takes long."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    try:
        await asyncio.to_thread(process.wait, _STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        await asyncio.to_thread(process.wait)
