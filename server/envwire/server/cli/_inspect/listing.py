"""Output formats of `envwire list`: a table for terminals, plain lines for pipes, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from envwire.v1 import environment_pb2 as pb

#: Most columns of a table.
_MAX_WIDTH = 1000
_COLUMNS = ("environment", "library", "episode steps", "reward threshold")


def _row(entry: pb.EnvironmentListing) -> dict[str, Any]:
    """Returns an environment as a JSON object, with None for what its library does not say."""
    spec = entry.spec
    kind = str(spec.reward_threshold.WhichOneof("kind"))
    is_number = kind in {"int_value", "float_value"}
    return {
        "id": spec.id,
        "library": entry.library,
        "max_episode_steps": spec.max_episode_steps if spec.HasField("max_episode_steps") else None,
        "reward_threshold": float(getattr(spec.reward_threshold, kind)) if is_number else None,
    }


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_json(listing: pb.ListEnvironmentsResponse, info: pb.GetServerInfoResponse) -> None:
    """Prints the server and its environments as one JSON object."""
    server = {
        "version": info.version,
        "active_sessions": info.active_sessions,
        "max_sessions": info.max_sessions,
        "draining": info.draining,
    }
    rows = [_row(entry) for entry in listing.environments]
    typer.echo(json.dumps({"server": server, "environments": rows}, indent=2))


def print_rows(listing: pb.ListEnvironmentsResponse, info: pb.GetServerInfoResponse) -> None:
    """Prints a table in a terminal, or tab-separated lines in a pipe."""
    rows = [[*map(_cell, _row(entry).values())] for entry in listing.environments]
    used = f"{info.active_sessions} of {info.max_sessions} sessions in use"
    draining = ", draining" if info.draining else ""
    print_table(_COLUMNS, rows, f"envwire {info.version}: {used}{draining}")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], summary: str) -> None:
    """Prints a table with a summary below it, or tab-separated lines in a pipe, with the summary on standard error."""
    console = Console()
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
