"""Output formats of `envwire list`: a table for terminals, plain lines for pipes, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from envwire.v1 import environment_pb2 as pb
    from envwire.v1 import specs_pb2

_COLUMNS = ("environment", "library", "episode steps", "reward threshold")


@dataclass(frozen=True)
class Row:
    """One environment.

    Attributes:
        id: Its id, as `make` takes it.
        library: The library that registers it.
        max_episode_steps: Steps after which an episode is truncated; None for no limit.
        reward_threshold: The return from which it counts as solved; None if the library does not say.
    """

    id: str
    library: str
    max_episode_steps: int | None
    reward_threshold: float | None

    @classmethod
    def of(cls, entry: pb.EnvironmentListing) -> Row:
        """Builds a row from a listing."""
        spec = entry.spec
        steps = int(spec.max_episode_steps) if spec.HasField("max_episode_steps") else None
        return cls(spec.id, entry.library, steps, _threshold(spec))

    def cells(self) -> list[str]:
        """Returns the row's cells as strings, with "-" for missing values."""
        threshold = "-" if self.reward_threshold is None else f"{self.reward_threshold:g}"
        steps = "-" if self.max_episode_steps is None else str(self.max_episode_steps)
        return [self.id, self.library, steps, threshold]


def _threshold(spec: specs_pb2.EnvSpec) -> float | None:
    kind = spec.reward_threshold.WhichOneof("kind")
    if kind not in {"int_value", "float_value"}:
        return None
    return float(getattr(spec.reward_threshold, kind))


def print_json(listing: pb.ListEnvironmentsResponse, info: pb.GetServerInfoResponse) -> None:
    """Prints the server and its environments as one JSON object."""
    server = {
        "version": info.version,
        "active_sessions": info.active_sessions,
        "max_sessions": info.max_sessions,
        "draining": info.draining,
    }
    rows = [asdict(Row.of(entry)) for entry in listing.environments]
    typer.echo(json.dumps({"server": server, "environments": rows}, indent=2))


def print_rows(listing: pb.ListEnvironmentsResponse, info: pb.GetServerInfoResponse) -> None:
    """Prints a table in a terminal, or tab-separated lines in a pipe."""
    rows = [Row.of(entry).cells() for entry in listing.environments]
    print_table(_COLUMNS, rows, _summary(info))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], summary: str) -> None:
    """Prints a table with a summary below it, or tab-separated lines in a pipe, with the summary on standard error."""
    console = Console()
    if console.is_terminal:
        table = Table(*columns)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    else:
        for row in rows:
            typer.echo("\t".join(row))
    typer.echo(summary, err=not console.is_terminal)


def _summary(info: pb.GetServerInfoResponse) -> str:
    draining = ", draining" if info.draining else ""
    return f"envwire {info.version}: {info.active_sessions} of {info.max_sessions} sessions in use{draining}"
