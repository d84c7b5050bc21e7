"""Starts and stops the OpenEnv bridge, a program of the distribution `envwire-openenv`, for the server."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from envwire.server._ipc.child_program import ChildProgram
from envwire.server._ipc.orphans import spared
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
