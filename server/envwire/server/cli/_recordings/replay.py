"""`envwire replay`: plays a recording to an environment and reports the first different answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server._grammar import counted
from envwire.server.cli._failures import reporting
from envwire.server.cli._parameters import Imports, target_option

if TYPE_CHECKING:
    from envwire.server._recording.files import RecordedSession


def replay(
    file: Annotated[
        Path, typer.Argument(help="A recording, of `envwire serve --record`.", metavar="FILE")
    ],
    target: Annotated[str, target_option("Server to play it to; in this process by default.")] = "",
    imports: Imports = None,
) -> None:
    """Make the environment of a recording again, send it the same requests, and show the first answer that differs.

    Exits with status 1 at the first request whose answer differs.

    Example: envwire replay recordings/x.envrec
    """
    from envwire.server._recording.files import RecordedSession, RecordingError

    with reporting("replay", RecordingError):
        recording = RecordedSession(file)
        with recording.decoding():
            same = _play(recording, target, imports or [])
    if recording.header.redacted:
        names = ", ".join(recording.header.redacted)
        typer.echo(f"values were left out of this recording: {names}", err=True)
    if not same:
        raise typer.Exit(1)


def _play(recording: RecordedSession, target: str, imports: list[str]) -> bool:
    """Plays a recording, prints the outcome, and returns whether all answers are the same."""
    from envwire.server.cli._recordings.replayer import (
        difference,
        replay_transport,
        replaying,
        requests,
    )

    make = recording.header.make
    count = 0
    with replaying(replay_transport(target, make, imports), make) as replayer:
        for count, (request, exchange) in enumerate(requests(recording), 1):
            if exchange.response is None:
                typer.echo(
                    f"request {count} ({exchange.kind}) was not answered when it was recorded",
                    err=True,  # unbuffered: it may end this process, too
                )
            answer = replayer.ask(request)
            found = difference(exchange.response, answer) if exchange.response else None
            if found is not None:
                typer.echo(
                    f"request {count} ({exchange.kind}, at {exchange.at:.3f} s) differs in {found.field}"
                )
                typer.echo(f"  recorded: {found.recorded}\n  now:      {found.now}")
                return False
    typer.echo(f"{counted(count, 'request')} of {make.env_id}: all answers are the same")
    typer.echo(f"the recording was {recording.ending}")
    return True
