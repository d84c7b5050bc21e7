"""`envwire serve`: serves environments until it is stopped."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import typer

from envwire.server._settings.sources import gather
from envwire.server.cli._serve.settings_options import given, take_settings
from envwire.server.config import SETTINGS, ServerConfig

EPILOG = (
    "Each option may also be set by an environment variable (--max-sessions: ENVWIRE_MAX_SESSIONS) or in a TOML file "
    "(max_sessions = 8, imports = ['module']). An option is stronger than a variable, and a variable than the file."
)


def serve(ctx: typer.Context, config: str, **options: Any) -> None:
    """Host ENVIRONMENTS until SIGTERM or Ctrl-C.

    Prints "ready: HOST:PORT" when clients can connect. The first SIGTERM lets running sessions finish, the second
    does not.
    """
    from envwire.server._processes.forkserver_start import ForkserverError
    from envwire.server.serving import run

    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    try:
        settings = gather(SETTINGS, given(ctx, options), os.environ, config)
        settings.setdefault("environments", ())
        run(
            ServerConfig(**settings, sys_path=(os.getcwd(),)),
            lambda target: print(f"ready: {target}", flush=True),
        )
    except (ValueError, OSError, ForkserverError) as error:
        typer.echo(f"envwire serve: {error}", err=True)
        raise typer.Exit(1) from None


take_settings(serve, SETTINGS)
