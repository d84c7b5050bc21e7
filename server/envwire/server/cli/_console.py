"""The console of tables and progress bars, in which text of others is only text.

Tables are aligned in terminals, and lines with tabs in pipes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from envwire.server._guarded_output import drawing, escaped


class OperatorConsole(Console):
    """A console that moves the cursor itself, and escapes control characters in all text that it shows.

    Brackets in text are no markup.

    Args:
        stderr: Whether it writes to standard error.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        file = drawing(sys.stderr if stderr else sys.stdout)
        super().__init__(file=file, markup=False, emoji=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yields the segments of what is shown; styles and movements of the cursor are not text."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else escaped(text), style, control)


_T = TypeVar("_T")


def tracked(items: Iterable[_T], what: str, total: int | None = None) -> Iterable[_T]:
    """Yields items, with a progress bar that is gone in the end; `what` is its title."""
    from rich.progress import track

    hidden = not sys.stdout.isatty()
    return track(items, what, total, transient=True, disable=hidden, console=OperatorConsole())


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
