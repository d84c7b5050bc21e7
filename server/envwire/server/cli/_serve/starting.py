"""What the commands that serve begin with: one line for what keeps them from starting."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

import typer

from envwire.server._system import check_system


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
        give_up(command, error)


def give_up(command: str, error: Exception) -> NoReturn:
    """Prints why a command cannot serve, and exits with status 1."""
    typer.echo(f"envwire {command}: {error}", err=True)
    raise typer.Exit(1) from None
