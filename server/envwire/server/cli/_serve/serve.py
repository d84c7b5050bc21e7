"""`envwire serve`: serves environments until it is stopped."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import typer

from envwire.server._logs import log_to_stderr
from envwire.server._settings.setting import gather
from envwire.server.cli._failures import starting, stop
from envwire.server.cli._serve.live_page import Dashboard, DashboardPort, live_page
from envwire.server.cli._serve.settings_options import ConfigFile, given, take_settings
from envwire.server.config import SETTINGS, ServerConfig

_log = logging.getLogger("envwire.server")

EPILOG = (
    "--help-all shows the other options. Each may also be set by an environment variable (--max-sessions: "
    "ENVWIRE_MAX_SESSIONS) or in a TOML file (max_sessions = 8, imports = ['module']). An option is stronger than a "
    "variable, and a variable than the file."
)


def serve(
    ctx: typer.Context,
    *,
    dashboard: Dashboard = False,
    dashboard_port: DashboardPort = 50080,
    config: ConfigFile = "",
    **options: Any,
) -> None:
    """Host ENVIRONMENTS until SIGTERM or Ctrl-C.

    Prints "ready: HOST:PORT" when clients can connect. The first SIGTERM lets running sessions finish, the second
    does not.

    Example: envwire serve CartPole-v1 'ALE/*' --import ale_py
    """
    with starting("serve"):
        from envwire.server._processes.forkserver_start import ForkserverError
        from envwire.server.serving import run

        settings = gather(SETTINGS, given(ctx, options), os.environ, config)
        settings.setdefault("environments", ())
        settings["count_episodes"] = dashboard or settings.get("count_episodes", False)
        server = ServerConfig(**settings, sys_path=(os.getcwd(),))
        log_to_stderr(server.log_format)
        try:
            with live_page("serve", dashboard, dashboard_port) as ready:
                run(server, partial(_tell, ready))
        except ForkserverError as error:
            stop("serve", error)


def _tell(ready: Callable[[str], None], target: str) -> None:
    """Tells that the server is ready, and once what root gives away."""
    if os.geteuid() == 0:
        _log.warning(
            "environments run as root and can change installed packages and programs, this server's too; give the "
            "server a user of its own. See docs/security.md"
        )
    ready(target)


take_settings(serve, SETTINGS)
