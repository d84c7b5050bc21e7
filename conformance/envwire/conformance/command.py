"""`envwire conformance`: checks a server, or a client, against docs/protocol.md."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envwire.conformance.suite.runner import Result, Runner

#: Exit statuses beside 0, conforms.
BROKEN, USAGE, UNREACHABLE = 1, 2, 3
_NAME = "conformance"
#: Transports of clients.
_TRANSPORTS = ("unary", "stream", "direct")
_TARGET = re.compile(r".+:\d+|[a-z-]+:.+")


def _checked_target(target: str) -> str:
    if target and not _TARGET.fullmatch(target):
        raise typer.BadParameter(f"{target!r} has no port; write HOST:PORT, localhost:50051")
    return target


def _checked_output(path: Path | None) -> Path | None:
    if path is not None and not path.parent.is_dir():
        raise typer.BadParameter(f"there is no directory {path.parent}")
    return path


def _checked_transports(text: str) -> str:
    if unknown := set(text.split(",")) - set(_TRANSPORTS):
        raise typer.BadParameter(
            f"{', '.join(sorted(unknown))}; choose of {', '.join(_TRANSPORTS)}"
        )
    return text


def conformance(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="HOST:PORT of the server.", callback=_checked_target),
    ] = "",
    env: Annotated[
        str, typer.Option(help="Environment to use in place of Conformance/Counter-v0.")
    ] = "",
    profile: Annotated[
        str, typer.Option(help="Profiles, separated by commas; all that the server offers without.")
    ] = "",
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file: token, certificates, ids.", exists=True, dir_okay=False),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Run only names that fit: 'leases.*'; may be repeated."
        ),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Leave out names that fit; may be repeated."),
    ] = None,
    known_failing: Annotated[
        Path | None,
        typer.Option(
            help="File of names that are known to fail, a pattern a line.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Write JUnit's XML to this file.", callback=_checked_output)
    ] = None,
    as_json: Annotated[
        Path | None,
        typer.Option("--json", help="Write JSON to this file.", callback=_checked_output),
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="Print the checks, and check nothing.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of what the checks draw.")] = 0,
    client: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="Check a client in place of a server: the command line of a program around it, './driver --fast', "
            "which is driven against servers that misbehave on purpose.",
        ),
    ] = "",
    transport: Annotated[
        str,
        typer.Option(
            help="With --client: its transports, separated by commas.", callback=_checked_transports
        ),
    ] = ",".join(_TRANSPORTS),
) -> None:
    """Check the server at TARGET, which serves 'Conformance/*', or a client against the protocol.

    Exit 0 when it conforms, 1 when a required check failed or was skipped for want of an environment, or a known
    failure passes, 2 for a wrong command line, 3 when nobody answers or the client's program does not start.

    Example: envwire conformance localhost:50051 --profile core,stream

    Example: envwire conformance --client ./driver --run 'cuts.*'
    """
    if client:
        if target:
            stop(f"{target} is a server, and --client checks a client: give one of them", USAGE)
        sys.exit(_check_client(client, transport, run, skip, known_failing, junit, as_json, show))
    from envwire.conformance import checks
    from envwire.conformance.report import listing

    del checks  # imported only to register the checks
    runner = _runner(target, env, profile, config, run, skip, known_failing, seed)
    if show:
        typer.echo("\n".join(listing(runner.selection.checks())))
        return
    if not target:
        stop("name a TARGET, HOST:PORT of a server", USAGE)
    if not any(runner.selection.checks()):
        stop("no check fits; `envwire conformance --list` names them", USAGE)
    sys.exit(_report(runner.results(), junit, as_json))


def _runner(
    target: str,
    env: str,
    profile: str,
    config: Path | None,
    run: list[str] | None,
    skip: list[str] | None,
    known_failing: Path | None,
    seed: int,
) -> Runner:
    from envwire.conformance.configuration import read_configuration, read_patterns
    from envwire.conformance.suite import Selection
    from envwire.conformance.suite.runner import Runner
    from envwire.conformance.suite.selection import PROFILES

    try:
        given = read_configuration(config, target)
        known = (*given.known_failing, *read_patterns(known_failing))
    except ValueError as error:
        stop(error, USAGE)
    profiles = tuple(one for one in profile.split(",") if one) or given.profiles
    if unknown := set(profiles) - PROFILES.keys():
        unknown_names = ", ".join(sorted(unknown))
        stop(f"no profile {unknown_names}; there are {', '.join(PROFILES)}", USAGE)
    return Runner(
        given.access,
        Selection(profiles, tuple(run or ()), (*given.skip, *(skip or ()))),
        known,
        seed,
        given.seconds,
        {**given.environments, **({"Counter": env} if env else {})},
    )


def _check_client(
    client: str,
    transport: str,
    run: list[str] | None,
    skip: list[str] | None,
    known_failing: Path | None,
    junit: Path | None,
    as_json: Path | None,
    show: bool,
) -> int:
    """Plays scenarios with a client, or lists them; returns the exit status."""
    from envwire.conformance.client import SCENARIOS
    from envwire.conformance.client.scenario_runner import ClientRunner
    from envwire.conformance.configuration import read_patterns
    from envwire.conformance.patterns import fits
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
        return 0
    if not chosen:
        stop("no scenario fits; `envwire conformance --client ./driver --list` names them", USAGE)
    known = tuple(read_patterns(known_failing))
    return _report(ClientRunner(shlex.split(client), chosen, known).results(), junit, as_json)


def _report(results: Iterator[Result], junit: Path | None, as_json: Path | None) -> int:
    """Prints results and writes them to files, and returns the exit status."""
    from envwire.conformance.outcomes import UnreachableError
    from envwire.conformance.report import Counts, badge, json_text, junit_text, line, needs

    counts, kept = Counts(), list["Result"]()
    try:
        for result in results:
            typer.echo(line(result))
            counts.add(result)
            kept.append(result)
    except UnreachableError as error:
        stop(error, UNREACHABLE)
    for path, text in ((junit, junit_text), (as_json, json_text)):
        if path is not None:
            path.write_text(text(kept), encoding="utf-8")
    typer.echo("\n".join([*needs(counts), badge(counts)]))
    return BROKEN if counts.broken or counts.missing or not kept else 0


def stop(text: object, status: int) -> NoReturn:
    """Ends the command with a message."""
    typer.echo(f"envwire {_NAME}: {text}", err=True)
    sys.exit(status)
