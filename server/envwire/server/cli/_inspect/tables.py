"""Tables of commands: aligned in terminals, lines with tabs in pipes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import typer
from rich.console import Console
from rich.table import Table

from envwire.server.cli._console import OperatorConsole

#: Most columns of a table.
_MAX_WIDTH = 1000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], summary: str) -> None:
    """Prints a table with a summary below it, or tab-separated lines in a pipe, with the summary on standard error."""
    console = OperatorConsole()
    if console.is_terminal:
        print_whole(table_of(columns, rows), console)
    else:
        for row in rows:
            typer.echo("\t".join(row))
    typer.echo(summary, err=not console.is_terminal)


def table_of(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Returns a table without lines: with them the servers of a farm do not fit into 80 columns."""
    table = Table(*columns, box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    return table


def print_whole(table: Table, console: Console) -> None:
    """Prints a table without cutting its cells; a terminal that is too narrow for it wraps the lines."""
    needed = console.measure(table, options=console.options.update(max_width=_MAX_WIDTH)).maximum
    console.width = max(console.width, needed)
    console.print(table)
