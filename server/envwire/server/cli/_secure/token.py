"""`envwire token`: creates a token for the token file."""

from __future__ import annotations

from typing import Annotated

import typer

from envwire.server._auth.scopes import Scope, ServerPatterns
from envwire.server._auth.tokens import new_token
from envwire.server.cli._failures import USAGE, stop


def token(
    name: Annotated[
        str, typer.Argument(help="Whose it is; limits count by this name.", metavar="NAME")
    ],
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="What it is for; repeat for more. play makes and drives environments."),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(help="Pattern of the ids of servers that may join with it; repeat for more."),
    ] = None,
    address: Annotated[
        list[str] | None,
        typer.Option(help="Pattern of the addresses, HOST:PORT, at which such servers may be."),
    ] = None,
    quota: Annotated[
        int | None,
        typer.Option(
            help="How many sessions of a farm its client may hold at once; by default the gateway's --quota.",
            min=1,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make a token for NAME, and print two lines: the token, only this once, and its line for `envwire serve --tokens`.

    What each is for is told on standard error, so that the output can be copied or read by a script.

    Example: envwire token alice

    For the servers of a farm: envwire token node --scope join --server 'gpu-*' --address '10.0.1.*:50051'
    """
    servers = ServerPatterns(tuple(server or ()), tuple(address or ()))
    try:
        made, line = new_token(name, scope or [Scope.PLAY], servers, quota)
    except ValueError:
        stop(
            "token",
            f"{name!r} cannot be the name of a token, or a pattern has a blank, a comma or a #; names have letters, "
            "digits and . _ - @",
            USAGE,
        )
    typer.echo("For the client, in ENVWIRE_TOKEN; it is shown only this once:", err=True)
    typer.echo(made)
    typer.echo("For the server, a line of the file of --tokens:", err=True)
    typer.echo(line)
