"""`envwire doctor`: finds out what keeps a client from reaching a server, or from being fast."""

from __future__ import annotations

from typing import Annotated

import typer

from envwire.server.cli._failures import stop
from envwire.server.cli._parameters import Target

_MARKS = {True: ("ok", "green"), False: ("failed", "red"), None: ("note", "yellow")}


def doctor(
    target: Target,
    env_id: Annotated[
        str, typer.Option("--env-id", help="Environment to step; by default one that it hosts.")
    ] = "",
) -> None:
    """Diagnose the connection to the server at TARGET: address, TLS, token, versions, direct channel.

    Makes an environment there and steps it. Exits 1 if a client cannot use the server; each finding says what to do.

    Example: envwire doctor localhost:50051
    """
    import contextlib

    from envwire.client import Credentials
    from envwire.client.errors import RemoteError
    from envwire.server.cli._inspect.diagnosis import CheckedServer, diagnose

    well = True
    try:
        credentials = Credentials()
    except (RemoteError, OSError, ValueError) as error:
        stop("doctor", error)
    with contextlib.closing(CheckedServer(target, env_id, credentials)) as server:
        for name, passed, text in diagnose(server):
            mark, colour = _MARKS[passed]
            typer.echo(f"{name:<15} {typer.style(f'{mark:<7}', fg=colour)} {text}")
            well = well and passed is not False
    if not well:
        raise typer.Exit(1)
