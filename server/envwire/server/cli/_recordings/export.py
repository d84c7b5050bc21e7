"""`envwire export`: makes data sets, tables and films from recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server.cli._parameters import Imports
from envwire.server.cli._stop import stop

if TYPE_CHECKING:
    from envwire.server._recording.reader import RecordedSession

#: The extra that installs each optional module.
_EXTRAS = {"minari": "minari", "jax": "minari", "h5py": "minari", "imageio": "mp4"}

Files = Annotated[
    list[Path], typer.Argument(help="Recordings, of `envwire serve --record`.", metavar="FILE...")
]


def export(
    files: Files,
    minari: Annotated[str, typer.Option(help="Name of a Minari dataset to make.")] = "",
    csv: Annotated[Path | None, typer.Option(help="Table to write, a row for each step.")] = None,
    gif: Annotated[Path | None, typer.Option(help="Film to write, of one recording.")] = None,
    mp4: Annotated[Path | None, typer.Option(help="Film to write, of one recording.")] = None,
    target: Annotated[
        str, typer.Option(help="Server that renders a film whose frames were not recorded.")
    ] = "",
    imports: Imports = None,
) -> None:
    """Make a data set, a table or a film from recordings.

    A film shows the frames that were rendered while it was recorded. If there are none, the recording is played again,
    here or at --target, and rendered.
    """
    from envwire.server._recording.reader import RecordedSession, RecordingError
    from envwire.server.cli._failures import fail

    try:
        recordings = [RecordedSession(file) for file in files]
        written = list(_write(recordings, minari, csv, {"gif": gif, "mp4": mp4}, target, imports))
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            fail("export", error)
        stop(
            "export",
            f"{error.name} is not installed; this form needs: pip install 'envwire[{extra}]'",
        )
    except RecordingError as error:
        stop("export", error)
    except Exception as error:
        fail("export", error)
    if not written:
        stop("export", "say what to make: --minari, --csv, --gif or --mp4", 2)


def _write(
    recordings: list[RecordedSession],
    minari: str,
    csv: Path | None,
    films: dict[str, Path | None],
    target: str,
    imports: list[str] | None,
) -> Iterator[str]:
    """Writes the requested files; yields a message for each."""
    writers: list[tuple[object, Callable[[], str]]] = []
    if minari:
        from envwire.server.cli._recordings.minari_dataset import write_minari

        writers.append((minari, partial(write_minari, recordings, minari)))
    if csv is not None:
        from envwire.server.cli._recordings.csv_table import write_csv

        writers.append((csv, partial(write_csv, recordings, csv)))
    for form, path in films.items():
        if path is not None:
            from envwire.server.cli._recordings.film import write_film
            from envwire.server.cli._recordings.replayer import replay_transport

            open_transport = partial(
                replay_transport, target, recordings[0].header.make, imports or []
            )
            writers.append((path, partial(write_film, form, recordings, path, open_transport)))
    for name, write in writers:
        typer.echo(f"wrote {name}: {write()}")
        yield str(name)
