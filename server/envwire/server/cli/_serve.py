"""`envwire serve`: serves environments until it is stopped, with the dashboard beside them if asked to."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer

from envwire.server._logs import log_to_stderr
from envwire.server._settings.listening import local_target
from envwire.server._settings.setting import gather
from envwire.server.cli._failures import starting, stop, tell_ready
from envwire.server.cli._settings_options import ConfigFile, given, take_settings
from envwire.server.config import SETTINGS, ServerConfig

_HOST = "127.0.0.1"
_STOP_SECONDS = 10.0
#: The options of commands that can run the dashboard.
Dashboard = Annotated[
    bool,
    typer.Option(
        "--dashboard",
        help="Serve the live page as well, on loopback; its address is printed. It takes the extra: pip install "
        "'envwire[dashboard]'.",
        rich_help_panel="Operations",
    ),
]
DashboardPort = Annotated[
    int,
    typer.Option(
        help="Port of the live page; 0 for any free one.",
        min=0,
        max=65535,
        hidden=True,
        rich_help_panel="Operations",
    ),
]


@contextmanager
def live_page(command: str, wanted: bool, port: int) -> Generator[Callable[[str], None]]:
    """Yields the function to call once a server or a gateway is ready, which starts the page; it ends with the block.

    Args:
        command: The command, for messages.
        wanted: Whether to run the page.
        port: Its port; 0 for any free one.

    Raises:
        OSError: The port is in use.
    """
    with contextlib.ExitStack() as running:
        if wanted:
            _check_installed(command)
            _check_free(port)

        def ready(target: str) -> None:
            tell_ready(target)
            if wanted:
                running.enter_context(_page(target, port))

        yield ready


def _check_installed(command: str) -> None:
    for module in ("envwire.dashboard", "starlette", "uvicorn"):
        if importlib.util.find_spec(module) is None:
            stop(
                command,
                f"{module} is not installed; --dashboard needs: pip install 'envwire[dashboard]', or in a clone: "
                "pip install ./dashboard",
            )


def _check_free(port: int) -> None:
    try:
        socket.create_server((_HOST, port)).close()
    except OSError as error:
        raise OSError(
            f"cannot serve the page at port {port}: {error}; give another --dashboard-port"
        ) from error


@contextmanager
def _page(target: str, port: int) -> Generator[None]:
    """Runs the page in its own process, which ends with this one because its standard input is closed."""
    from envwire.server._ipc.child_program import wait_or_kill
    from envwire.server._ipc.orphans import spared

    page = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "envwire.dashboard", local_target(target), str(port)],
        stdin=subprocess.PIPE,
        # The page has the operator's token: from Python 3.11 on it imports no module from the working directory.
        env=os.environ | {"PYTHONSAFEPATH": "1"},
        start_new_session=True,  # Ctrl-C must reach only the server, which drains meanwhile
    )
    spared.add(page.pid)
    try:
        yield
    finally:
        if page.stdin is not None:
            page.stdin.close()
        wait_or_kill(page, _STOP_SECONDS)


_log = logging.getLogger("envwire.server")

EPILOG = (
    "--help-all shows the other options. Each may also be set by an environment variable (--max-sessions: "
    "ENVWIRE_MAX_SESSIONS) or in a TOML file, --config FILE (max_sessions = 8, imports = ['module']). An option is "
    "stronger than a variable, and a variable than the file."
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
