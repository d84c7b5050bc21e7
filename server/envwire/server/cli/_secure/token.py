"""`envwire token`: creates a token for the token file."""

from __future__ import annotations

from typing import Annotated

import typer

from envwire.server._auth.scopes import Scope
from envwire.server._auth.server_patterns import ServerPatterns
from envwire.server._auth.tokens import new_token
from envwire.server.cli._stop import stop


def token(
    name: Annotated[str, typer.Argument(help="Whose it is; limits count by this name.")],
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
    """Make a token for NAME: print it, only this once, and its line for the file of `envwire serve --tokens`.

    Example: envwire token alice

    For the servers of a farm: envwire token node --scope join --server 'gpu-*' --address '10.0.1.*:50051'
    """
    servers = ServerPatterns(tuple(server or ()), tuple(address or ()))
    try:
        made, line = new_token(name, scope or [Scope.PLAY], servers, quota)
    except ValueError:
        stop(
            "token",
            f"{name!r} is no name for a token; use letters, digits and . _ - @; and a pattern has no blank, comma or #",
        )
    typer.echo(f"token, for ENVWIRE_TOKEN: {made}")
    typer.echo(f"line, for --tokens FILE:  {line}")
