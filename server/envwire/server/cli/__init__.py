"""The command `envwire`: serve environments, look at a server, drive an environment from a terminal.

This is the only part of the server that uses the client.
"""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Runs the command line."""
    for stream in (sys.stdout, sys.stderr):
        # In a locale without UTF-8, what it cannot show is a question mark, instead of the end of the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        from envwire.server.cli._app import app
    except ModuleNotFoundError as error:
        sys.exit(
            f"envwire: {error.name} is not installed; the command line needs: pip install 'envwire[server]'"
        )
    app()


__all__ = ["main"]
