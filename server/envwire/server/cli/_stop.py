"""Ends a command that cannot continue. It has no slow imports, because `envwire --help` loads it."""

from __future__ import annotations

from typing import NoReturn

import typer

#: Exit status of a command whose arguments or options cannot be used.
USAGE = 2


def stop(command: str, text: object, status: int = 1) -> NoReturn:
    """Prints why a command ends, in one line, and exits with a status."""
    typer.echo(f"envwire {command}: {text}", err=True)
    raise typer.Exit(status) from None


def describe_os_error(error: OSError) -> str:
    """Describes an error; one of a file that was named, without the number that Python puts first."""
    if error.filename is None:
        return str(error)
    return f"cannot open {error.filename}: {error.strerror}; correct the path or its permissions"
