"""The command `envwire`: serve environments, look at a server, drive an environment from a terminal.

This is the only part of the server that uses the client.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line."""
    try:
        from envwire.server.cli._app import app
    except ModuleNotFoundError as error:
        sys.exit(
            f"envwire: {error.name} is not installed; the command line needs: pip install 'envwire[server]'"
        )
    app()


__all__ = ["main"]
