"""Start of the commands that serve: says that one is ready, or in one line what prevents it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from envwire.server._system import check_system
from envwire.server.cli._failures import USAGE, describe_os_error, stop


@contextmanager
def starting(command: str) -> Generator[None]:
    """Context for starting a server; import modules that exist only on Linux inside it.

    Args:
        command: The command's name.

    Raises:
        Exit: The server cannot start; the reason was printed. The status is 2 if a setting is wrong, whatever gave it.
    """
    try:
        check_system()
        yield
    except OSError as error:
        stop(command, describe_os_error(error))
    except ValueError as error:
        stop(command, error, USAGE)


def tell_ready(address: str) -> None:
    """Prints the address at which clients can connect.

    Raises:
        OSError: What reads the output has ended.
    """
    try:
        print(f"ready: {address}", flush=True)
    except BrokenPipeError:
        raise OSError(
            f"nobody reads that {address} is ready: what the output is piped to has ended; send it to a file"
        ) from None
