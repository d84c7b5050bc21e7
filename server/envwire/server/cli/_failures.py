"""Ends commands that cannot continue, with the reason in one line, and says that those that serve are ready.

No slow imports: `envwire --help` loads it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

import typer

from envwire.server._guarded_output import OutputClosedError

#: Exit status of a command whose arguments or options cannot be used.
USAGE = 2


class CommandError(Exception):
    """What ends a command; the text says what to do."""


def stop(command: str, text: object, status: int = 1) -> NoReturn:
    """Prints why a command ends, in one line, and exits with a status."""
    typer.echo(f"envwire {command}: {text}", err=True)
    raise typer.Exit(status) from None


@contextmanager
def reporting(command: str, *plain: type[Exception]) -> Generator[None]:
    """Context of a command, which ends with the first exception; the reason is printed in one line.

    An environment's exception is printed with its cause, the traceback from the server.

    Args:
        command: The command's name.
        plain: Exceptions whose text says enough; others are printed with their class.
    """
    try:
        yield
    except typer.Exit:
        raise
    except CommandError as error:
        stop(command, error)
    except plain as error:
        stop(command, error)
    except Exception as error:
        _fail(command, error)


def _fail(command: str, error: Exception) -> NoReturn:
    from envwire.client.errors import RemoteTracebackError

    if isinstance(error, OutputClosedError):
        raise typer.Exit(1) from None  # what reads the output has ended, as in `| head -1`
    if isinstance(error.__cause__, RemoteTracebackError) and not of_the_server(error):
        typer.echo(f"The environment raised, on the server:{error.__cause__}", err=True)
        stop(command, f"the environment raised {_with_class(error)}")
    stop(command, describe_error(error))


def of_the_server(error: BaseException) -> bool:
    """Returns whether an error comes from the server and would be the same over every transport."""
    from envwire.client.errors import RemoteError
    from envwire.envs.error import Error

    return isinstance(error, (RemoteError, Error))


def describe_error(error: BaseException) -> str:
    """Describes an error in one line, without advice that only a program can follow."""
    if of_the_server(error):
        return str(error).removesuffix(getattr(error, "advice", ""))
    if isinstance(error, OSError) and error.filename is not None:
        return describe_os_error(error)
    return _with_class(error)


def describe_os_error(error: OSError) -> str:
    """Describes an error; one of a file that was named, without the number that Python puts first."""
    if error.filename is None:
        return str(error)
    return f"cannot open {error.filename}: {error.strerror}; correct the path or its permissions"


def _with_class(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


@contextmanager
def starting(command: str) -> Generator[None]:
    """Context for starting a server; import modules that exist only on Linux inside it.

    Args:
        command: The command's name.

    Raises:
        Exit: The server cannot start; the reason was printed. The status is 2 if a setting is wrong, whatever gave it.
    """
    from envwire.server._settings.checks import check_system

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
