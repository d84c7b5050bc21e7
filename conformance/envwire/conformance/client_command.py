"""`envwire conformance-client`: runs scenarios with a client in any language."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from envwire.conformance.command import (
    USAGE,
    Json,
    JUnit,
    KnownFailing,
    Run,
    Skip,
    report_results,
    stop,
)
from envwire.conformance.patterns import fits

_NAME = "conformance-client"
_TRANSPORTS = ("unary", "stream", "direct")


def _checked_transports(text: str) -> str:
    if unknown := set(text.split(",")) - set(_TRANSPORTS):
        raise typer.BadParameter(
            f"{', '.join(sorted(unknown))}; choose of {', '.join(_TRANSPORTS)}"
        )
    return text


def conformance_client(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="The driver's command line, behind --."),
    ] = None,
    transport: Annotated[
        str,
        typer.Option(help="Transports, separated by commas.", callback=_checked_transports),
    ] = ",".join(_TRANSPORTS),
    run: Run = None,
    skip: Skip = None,
    known_failing: KnownFailing = None,
    junit: JUnit = None,
    as_json: Json = None,
    show: Annotated[
        bool, typer.Option("--list", help="Print the scenarios, and play none.")
    ] = False,
) -> None:
    """Drive a client, by a program around it, against servers that misbehave on purpose.

    Exit 0 when it conforms, 1 when a required scenario failed or a known failure passes, 2 for a wrong command line, 3
    when the driver does not start.

    Example: envwire conformance-client --run 'cuts.*' -- ./driver
    """
    from envwire.conformance.client import SCENARIOS
    from envwire.conformance.client.runner import ClientRunner
    from envwire.conformance.configuration import read_patterns
    from envwire.conformance.report import listing

    transports = set(transport.split(","))
    chosen = [
        one
        for one in SCENARIOS
        if one.transport in transports
        and fits(one.name, run or ["*"])
        and not fits(one.name, skip or [])
    ]
    if show:
        typer.echo("\n".join(listing(chosen)))
        return
    if not command:
        stop(_NAME, "name the driver: envwire conformance-client -- ./driver", USAGE)
    if not chosen:
        stop(_NAME, "no scenario fits; `envwire conformance-client --list` names them", USAGE)
    known = tuple(read_patterns(known_failing))
    sys.exit(report_results(_NAME, ClientRunner(command, chosen, known).results(), junit, as_json))
