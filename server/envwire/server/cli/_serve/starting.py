"""Start of the commands that serve: reports in one line what prevents it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from envwire.server._system import check_system
from envwire.server.cli._stop import describe_os_error, stop


@contextmanager
def starting(command: str) -> Generator[None]:
    """Context for starting a server; import modules that exist only on Linux inside it.

    Args:
        command: The command's name.

    Raises:
        Exit: The server cannot start; the reason was printed.
    """
    try:
        check_system()
        yield
    except OSError as error:
        stop(command, describe_os_error(error))
    except ValueError as error:
        stop(command, error)
