"""Runs the dashboard next to a server or a farm: `--dashboard`."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated

import typer

from envwire.server._settings.listening import local_target
from envwire.server.cli._failures import stop, tell_ready

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
