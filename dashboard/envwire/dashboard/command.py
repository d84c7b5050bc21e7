"""`envwire dashboard`: a live page of servers and farms."""

from __future__ import annotations

from typing import Annotated

import typer

from envwire.server.cli._failures import starting, tell_ready
from envwire.server.cli._parameters import check_targets


def dashboard(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET", help="HOST:PORT of servers and gateways.", callback=check_targets
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to bind.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to bind; 0 for any free one.", min=0, max=65535)
    ] = 50080,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="Bind an address other than loopback. The page speaks HTTP without TLS: anyone who reads its key on "
            "the way can do what your token can.",
        ),
    ] = False,
) -> None:
    """Serve a live page of the servers and farms at TARGET, until SIGTERM or Ctrl-C.

    Prints "ready: ADDRESS" to open in a browser. The page does what the token in ENVWIRE_TOKEN may do.

    Example: envwire dashboard localhost:50050
    """
    from envwire.server._settings.listening import is_loopback

    with starting("dashboard"):
        if not insecure and not is_loopback(host):
            raise ValueError(
                f"{host} is not loopback, and the page speaks HTTP without TLS; leave --host out and forward the port "
                "by SSH, put a proxy with TLS in front, or give --insecure"
            )
        from envwire.dashboard.serving import run

        run(targets, host, port, tell_ready)
