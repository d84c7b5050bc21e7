"""Ends a command that cannot go on. It imports nothing that `envwire --help` would wait for."""

from __future__ import annotations

from typing import NoReturn

import typer


def stop(command: str, text: object, status: int = 1) -> NoReturn:
    """Prints why a command ends, in one line, and exits with a status."""
    typer.echo(f"envwire {command}: {text}", err=True)
    raise typer.Exit(status) from None
