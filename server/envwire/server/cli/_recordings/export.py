"""`envwire export`: makes data sets, tables and films from recordings."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server.cli._failures import USAGE, CommandError, reporting, stop
from envwire.server.cli._parameters import Imports, check_output, target_option

if TYPE_CHECKING:
    from envwire.server._recording.files import RecordedSession

#: The extra that installs each optional module.
_EXTRAS = {"minari": "minari", "jax": "minari", "h5py": "minari", "imageio": "mp4"}
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}

Files = Annotated[
    list[Path], typer.Argument(help="Recordings, of `envwire serve --record`.", metavar="FILE")
]
_Film = Annotated[
    Path | None, typer.Option(help="Film to write, of one recording.", callback=check_output)
]


def export(
    files: Files,
    minari: Annotated[str, typer.Option(help="Name of a Minari dataset to make.")] = "",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a Minari dataset of this name.")
    ] = False,
    csv: Annotated[
        Path | None,
        typer.Option(help="Table to write, a row for each step.", callback=check_output),
    ] = None,
    gif: _Film = None,
    mp4: _Film = None,
    target: Annotated[
        str, target_option("Server that renders a film whose frames were not recorded.")
    ] = "",
    imports: Imports = None,
) -> None:
    """Make a data set, a table or a film from recordings.

    A film shows the frames that were rendered while it was recorded. If there are none, the recording is played again,
    here or at --target, and rendered.

    Example: envwire export recordings/*.envrec --csv steps.csv
    """
    from envwire.server._recording.files import RecordedSession, RecordingError

    if not minari and not csv and not gif and not mp4:
        stop("export", "say what to make: --minari, --csv, --gif or --mp4", USAGE)
    _spare_recordings(csv, gif, mp4)
    with reporting("export", RecordingError):
        recordings = [RecordedSession(file) for file in files]
        films = {"gif": gif, "mp4": mp4}
        try:
            for message in _write(recordings, (minari, overwrite), csv, films, target, imports):
                typer.echo(message)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            needed = f"this form needs: pip install 'envwire[{extra}]', or in a clone: pip install '.[{extra}]'"
            raise CommandError(f"{error.name} is not installed; {needed}") from None
        except OSError as error:
            if error.errno not in _DISK_FULL:
                raise
            raise CommandError(
                "the disk is full; make room, and export again: what it wrote last is incomplete"
            ) from None
    _tell_torn(recordings)


def _tell_torn(recordings: list[RecordedSession]) -> None:
    for recording in recordings:
        if recording.torn_at is not None:
            told = f"{recording.path} was {recording.ending}; what follows is left out"
            typer.echo(told, err=True)


def _spare_recordings(*outputs: Path | None) -> None:
    """Ends the command where it would write over a recording, as with `--csv recordings/*.envrec`."""
    from envwire.server._recording.files import SUFFIX

    for path in outputs:
        if path is not None and path.suffix == SUFFIX:
            told = f"{path} is the name of a recording, which would be lost; name another file"
            stop("export", told, USAGE)


def _write(
    recordings: list[RecordedSession],
    minari: tuple[str, bool],
    csv: Path | None,
    films: dict[str, Path | None],
    target: str,
    imports: list[str] | None,
) -> Iterator[str]:
    """Writes the requested files; yields a message for each."""
    if name := minari[0]:
        from envwire.server.cli._recordings.tables import write_minari

        yield f"wrote {name}: {write_minari(recordings, *minari)}"
    if csv is not None:
        from envwire.server.cli._recordings.tables import write_csv

        yield f"wrote {csv}: {write_csv(recordings, csv)}"
    for form, path in films.items():
        if path is not None:
            from envwire.server.cli._recordings.film import write_film
            from envwire.server.cli._recordings.replayer import replay_transport

            open_transport = partial(
                replay_transport, target, recordings[0].header.make, imports or []
            )
            yield f"wrote {path}: {write_film(form, recordings, path, open_transport)}"
