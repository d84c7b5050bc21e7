"""Prints errors of commands in one line, with the remote traceback for an environment's errors."""

from __future__ import annotations

from typing import NoReturn

import typer

from envwire.client.errors import RemoteError, RemoteTracebackError
from envwire.envs.error import Error
from envwire.server.cli._stop import stop


def of_the_server(error: BaseException) -> bool:
    """Returns whether an error comes from the server and would be the same over every transport."""
    return isinstance(error, (RemoteError, Error))


def fail(command: str, error: BaseException) -> NoReturn:
    """Prints why a command failed and exits with status 1.

    An environment's exception is printed with its cause, the traceback from the server. Any other exception, such as a
    file that cannot be written, is printed in one line.
    """
    cause = error.__cause__
    if isinstance(cause, RemoteTracebackError) and not of_the_server(error):
        typer.echo(f"The environment raised, on the server:{cause}", err=True)
        stop(command, f"the environment raised {_describe_error(error)}")
    stop(command, error if of_the_server(error) else _describe_error(error))


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
