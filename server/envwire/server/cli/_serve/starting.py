"""What the commands that serve begin with: one line for what keeps them from starting."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from envwire.server._system import check_system
from envwire.server.cli._stop import stop


@contextmanager
def starting(command: str) -> Generator[None]:
    """Runs what serves; import inside what exists on Linux only.

    Args:
        command: The command's name.

    Raises:
        Exit: It cannot start, which was printed.
    """
    try:
        check_system()
        yield
    except (ValueError, OSError) as error:
        stop(command, error)
