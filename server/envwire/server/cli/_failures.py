"""Prints errors of commands in one line, with the remote traceback for an environment's errors."""

from __future__ import annotations

from typing import NoReturn

import typer

from envwire.client.errors import RemoteError, RemoteTracebackError
from envwire.envs.error import Error
from envwire.server.cli._stop import USAGE, describe_os_error, stop


class CommandError(Exception):
    """What ends a command; the text says what to do.

    Attributes:
        status: The exit status.
    """

    status = 1


class UsageError(CommandError):
    """The arguments or options do not go together."""

    status = USAGE


def of_the_server(error: BaseException) -> bool:
    """Returns whether an error comes from the server and would be the same over every transport."""
    return isinstance(error, (RemoteError, Error))


def fail(command: str, error: BaseException) -> NoReturn:
    """Prints why a command failed and exits with its status.

    An environment's exception is printed with its cause, the traceback from the server. Any other exception, such as a
    file that cannot be written, is printed in one line.
    """
    if isinstance(error, BrokenPipeError) and not of_the_server(error):
        raise typer.Exit(1) from None  # what reads the output has ended, as in `| head -1`
    if isinstance(error, CommandError):
        stop(command, error, error.status)
    if isinstance(error.__cause__, RemoteTracebackError) and not of_the_server(error):
        typer.echo(f"The environment raised, on the server:{error.__cause__}", err=True)
        stop(command, f"the environment raised {_with_class(error)}")
    stop(command, describe_error(error))


def describe_error(error: BaseException) -> str:
    """Describes an error in one line, without advice that only a program can follow."""
    if isinstance(error, RemoteError):
        return str(error).removesuffix(error.advice)
    if isinstance(error, OSError) and error.filename is not None:
        return describe_os_error(error)
    return str(error) if of_the_server(error) else _with_class(error)


def _with_class(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
