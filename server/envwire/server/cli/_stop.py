"""Ends a command that cannot continue. It has no slow imports, because `envwire --help` loads it."""

from __future__ import annotations

from typing import NoReturn

import typer


def stop(command: str, text: object, status: int = 1) -> NoReturn:
    """Prints why a command ends, in one line, and exits with a status."""
    typer.echo(f"envwire {command}: {text}", err=True)
    raise typer.Exit(status) from None
