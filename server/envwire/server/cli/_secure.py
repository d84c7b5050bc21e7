"""`envwire certs` and `envwire token`: create development certificates, and tokens for the token file."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated

import typer

from envwire.server._auth.scopes import Scope, ServerPatterns
from envwire.server._auth.tokens import new_token
from envwire.server.cli._failures import USAGE, stop
from envwire.server.cli._parameters import checked

#: A name of labels, as `*.example.org` and `gpu_1` are too.
_NAME = re.compile(r"(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)(\.[A-Za-z0-9_-]+)*\.?")
#: Characters of a common name (RFC 5280, appendix A.1).
_LONGEST_NAME = 64
_ADVICE = """
For the server:
  envwire serve ... --tls-cert {directory}/server.pem --tls-key {directory}/server-key.pem \\
    --tls-client-ca {directory}/ca.pem

For the client:
  export ENVWIRE_CA={directory}/ca.pem ENVWIRE_CERT={directory}/client.pem ENVWIRE_KEY={directory}/client-key.pem

Keep ca-key.pem away from both."""


def _check_hosts(hosts: list[str]) -> None:
    for host in hosts:
        if ":" not in host and not _NAME.fullmatch(host):
            raise ValueError(f"--host {host!r} is not a host name or an address")
        if ":" in host:
            ipaddress.ip_address(host)  # HOST:PORT is none


def _check_client(name: str) -> None:
    if not 1 <= len(name) <= _LONGEST_NAME:
        raise ValueError(f"--client {name!r} is not a name of 1 to {_LONGEST_NAME} characters")


def certs(
    directory: Annotated[Path, typer.Argument(help="Where to write them.", metavar="DIR")],
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="Name or address by which clients dial the server; repeat for more.",
            callback=checked(_check_hosts),
        ),
    ] = None,
    client: Annotated[
        str, typer.Option(help="Name of the client.", callback=checked(_check_client))
    ] = "agent",
    ca: Annotated[
        Path | None,
        typer.Option(
            help="Directory with the CA of an earlier run, to issue them; by default a new CA.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make a development CA, and a server's and a client's certificate that it issued, in DIR. Keys have mode 0600.

    Example: envwire certs certs --host trainer.example.org

    For another server of a farm: envwire certs node-b --ca certs --host node-b.example.org
    """
    from envwire.server._auth.certificates import Issued, make_certificates

    if (directory / "ca-key.pem").exists():
        stop(
            "certs",
            f"{directory} holds a CA already, whose certificates would no longer be trusted; name another "
            "directory, or remove it first",
        )
    try:
        authority = Issued.read(ca, "ca") if ca else None
    except (OSError, ValueError) as error:
        stop(
            "certs", f"{ca} holds no CA: {error}; name the directory of an earlier `envwire certs`"
        )
    hosts = ["localhost", "127.0.0.1", "::1", *(host or [])]
    try:
        paths = make_certificates(directory, dict.fromkeys(hosts), client, authority)
    except OSError as error:
        stop("certs", f"cannot write to {directory}: {error.strerror}; name another directory")
    for path in paths:
        typer.echo(path)
    typer.echo(_ADVICE.format(directory=directory), err=True)


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

    Explanations are printed on standard error, so that the output can be copied or read by a script.

    Example: envwire token alice

    For the servers of a farm: envwire token node --scope join --server 'gpu-*:50051' --address '10.0.1.*:50051'
    """
    try:
        servers = ServerPatterns(tuple(server or ()), tuple(address or ()))
    except ValueError as error:
        stop("token", str(error), USAGE)
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
