"""Starts and stops a bridge's process, for the server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from envwire.server._bridges.openenv.settings import BridgeSettings
from envwire.server._ipc.child_program import ChildProgram
from envwire.server._ipc.orphans import spared
from envwire.server.config import ServerConfig

READY = "ready"
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
    bridge = ChildProgram("envwire.server._bridges.openenv")
    spared.add(bridge.pid)
    try:
        await _start(bridge, BridgeSettings.of(config, target))
        yield
    finally:
        bridge.end_input()
        await bridge.stop(_STOP_SECONDS)


async def _start(bridge: ChildProgram, settings: BridgeSettings) -> None:
    """Sends the settings and waits until the bridge serves."""
    try:
        said = await bridge.introduce(settings.to_json(), _START_SECONDS)
    except TimeoutError:
        raise OSError(f"the OpenEnv bridge did not start within {_START_SECONDS:g} s") from None
    if said != READY:
        raise OSError(
            said or "the OpenEnv bridge ended before it was ready; its output above says why"
        )
