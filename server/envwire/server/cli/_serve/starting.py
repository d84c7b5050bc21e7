"""What the commands that serve begin with: a log in the terminal, and one line for what keeps them from starting."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

import typer

from envwire.server._system import check_system

FORMAT = "%(asctime)s %(name)s: %(message)s"
FORMAT_WITH_LEVEL = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@contextmanager
def starting(command: str, log_format: str = FORMAT) -> Generator[None]:
    """Runs what serves; import inside what exists on Linux only.

    Args:
        command: The command's name.
        log_format: The form of a line of the log.

    Raises:
        Exit: It cannot start, which was printed.
    """
    logging.basicConfig(level=logging.INFO, format=log_format, stream=sys.stderr)
    try:
        check_system()
        yield
    except (ValueError, OSError) as error:
        give_up(command, error)


def give_up(command: str, error: Exception) -> NoReturn:
    """Prints why a command cannot serve, and exits with status 1."""
    typer.echo(f"envwire {command}: {error}", err=True)
    raise typer.Exit(1) from None
