"""The command `envwire`: serve environments, look at a server, drive an environment from a terminal.

This is the only part of the server that uses the client.
"""

from __future__ import annotations

import errno
import os
import sys

from envwire.server._guarded_output import guard_output


def main() -> None:
    """Runs the command line."""
    _open_closed()
    guard_output()
    try:
        _run()
    except KeyboardInterrupt:  # while it starts; later, typer does the same
        sys.exit(130)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.exit(f"envwire: no room for what it writes: {error}")


def _open_closed() -> None:
    """Opens what `>&-` closed to nowhere: the number of standard output would be given to a connection."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 - for as long as the program runs
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _run() -> None:
    try:
        from envwire.server.cli._app import app
    except ModuleNotFoundError as error:
        sys.exit(
            f"envwire: {error.name} is not installed; the command line needs: pip install 'envwire[server]'"
        )
    app()


__all__ = ["main"]
