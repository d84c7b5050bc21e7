"""Starts and stops a bridge's process, for the server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from envwire.server._bridges.openenv.settings import BridgeSettings
from envwire.server._ipc.child_program import ChildProgram
from envwire.server._ipc.orphans import spared
from envwire.server.config import ServerConfig

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
        settings = BridgeSettings.of(config, target).to_json()
        await bridge.start("the OpenEnv bridge", settings, _START_SECONDS)
        yield
    finally:
        bridge.end_input()
        await bridge.stop(_STOP_SECONDS)
