"""`envwire farm join`: registers a server that knows nothing of farms."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from envwire.server.cli._failures import starting
from envwire.server.cli._parameters import target_argument


def join(
    target: Annotated[str, target_argument("HOST:PORT of the server.")] = "localhost:50051",
    gateways: Annotated[
        list[str] | None, typer.Option("--join", help="HOST:PORT of a gateway; repeat for more.")
    ] = None,
    advertise: Annotated[
        str, typer.Option(help="HOST:PORT at which gateways and clients reach it; TARGET if empty.")
    ] = "",
    labels: Annotated[
        list[str] | None, typer.Option("--label", help="NAME=VALUE that allocations can ask for.")
    ] = None,
    server_ca: Annotated[str, typer.Option(help="PEM file of the CA of its certificate.")] = "",
    join_token: Annotated[str, typer.Option(help="File with a token of scope join.")] = "",
    join_ca: Annotated[str, typer.Option(help="PEM file of the CA of the gateways.")] = "",
) -> None:
    """Register the server at TARGET with a farm, in its place: one of another language, or an older one.

    Runs beside the server until SIGTERM or Ctrl-C. The variable ENVWIRE_TOKEN has the token for a server that asks for
    one. Clients with a quota get no environments there, since such a server does not count them.

    Example: envwire farm join localhost:50051 --join gateway:50050
    """
    with starting("farm join"):
        from envwire.farm.cli.sidecar import Joining, Served, Sidecar
        from envwire.server._front.event_loop import run_loop, stop_on_signals
        from envwire.server._logs import TEXT, log_to_stderr

        if not gateways:
            raise ValueError("name a gateway: --join HOST:PORT")
        pairs = [each.partition("=") for each in labels or ()]
        if not all(name and equals for name, equals, _ in pairs):
            raise ValueError("--label is NAME=VALUE")
        served = Served(
            target,
            advertise or target,
            server_ca,
            os.environ.get("ENVWIRE_TOKEN", ""),
            {name: value for name, _, value in pairs},
        )
        token = Path(join_token).read_text(encoding="utf-8").strip() if join_token else ""
        joining = Joining(gateways, token, join_ca)
        for file in filter(None, (server_ca, join_ca)):
            Path(file).read_bytes()  # a missing one is an error now, and not at each attempt
        log_to_stderr(TEXT)

        async def main() -> None:
            stop = stop_on_signals()
            await Sidecar(served, joining).run(stop)

        run_loop(main())
