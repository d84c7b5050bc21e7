"""Checks that the operating system supports servers."""

from __future__ import annotations

import sys


def check_system() -> None:
    """Checks that this is Linux, whose own system calls fork and confine session processes and hand them sockets.

    Raises:
        OSError: This is another system.
    """
    if not sys.platform.startswith("linux"):
        raise OSError(
            f"servers run on Linux only, and this is {sys.platform!r}; run it in a container "
            "(docker/server.Dockerfile), in WSL 2 or on another machine. Clients run here."
        )
