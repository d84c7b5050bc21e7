"""`envwire farm gateway`: runs the gateway of a farm alone."""

from __future__ import annotations

import os
from typing import Any

import typer

from envwire.farm.gateway.config import SETTINGS, GatewayConfig
from envwire.server._logs import TEXT, log_to_stderr
from envwire.server._settings.setting import gather
from envwire.server.cli._failures import starting, tell_ready
from envwire.server.cli._settings_options import ConfigFile, given, take_settings


def gateway(ctx: typer.Context, *, config: ConfigFile = "", **options: Any) -> None:
    """Serve the gateway alone, one address for many servers, until SIGTERM or Ctrl-C.

    Servers register with `envwire serve --join HOST:PORT`. Clients make environments here and then talk to the server
    that hosts them. Prints "ready: HOST:PORT" when clients can connect.

    Example: envwire farm gateway --port 50050
    """
    with starting("farm gateway"):
        from envwire.farm.gateway.gateway import run

        log_to_stderr(TEXT)
        settings = gather(SETTINGS, given(ctx, options), os.environ, config)
        run(GatewayConfig(**settings), tell_ready)


take_settings(gateway, SETTINGS)
