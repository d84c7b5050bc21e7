"""The operating system that servers need."""

from __future__ import annotations

import sys


def check_system() -> None:
    """Checks that this is Linux: session processes are forked, confined and handed sockets by means that it alone has.

    Raises:
        OSError: It is another system.
    """
    if not sys.platform.startswith("linux"):
        raise OSError(
            f"servers run on Linux only, and this is {sys.platform!r}; run it in a container "
            "(docker/server.Dockerfile), in WSL 2 or on another machine. Clients run here."
        )
