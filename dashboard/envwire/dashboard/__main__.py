"""The dashboard process of `envwire serve --dashboard`: serves the page until its standard input is closed."""

from __future__ import annotations

import sys

from envwire.dashboard.serving import run
from envwire.server._guarded_output import guard_output


def main(target: str, port: str) -> None:
    """Serves the page and prints its address.

    Args:
        target: HOST:PORT of the server.
        port: Loopback port to bind.
    """
    guard_output()
    try:
        run(
            [target],
            "127.0.0.1",
            int(port),
            lambda address: print(f"dashboard: {address}", flush=True),
            lifeline=sys.stdin.fileno(),
        )
    except (OSError, ValueError) as error:
        sys.exit(f"envwire dashboard: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
