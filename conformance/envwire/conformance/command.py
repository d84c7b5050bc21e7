"""`envwire conformance`: checks a server against docs/protocol.md."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envwire.conformance.suite.runner import Result, Runner

#: Exit statuses beside 0, conforms.
BROKEN, USAGE, UNREACHABLE = 1, 2, 3
_TARGET = re.compile(r".+:\d+|[a-z-]+:.+")


def _checked_target(target: str) -> str:
    if target and not _TARGET.fullmatch(target):
        raise typer.BadParameter(f"{target!r} has no port; write HOST:PORT, localhost:50051")
    return target


def _checked_output(path: Path | None) -> Path | None:
    if path is not None and not path.parent.is_dir():
        raise typer.BadParameter(f"there is no directory {path.parent}")
    return path


JUnit = Annotated[
    Path | None, typer.Option(help="Write JUnit's XML to this file.", callback=_checked_output)
]
Json = Annotated[
    Path | None, typer.Option("--json", help="Write JSON to this file.", callback=_checked_output)
]

Run = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Run only names that fit: 'leases.*'; may be repeated."),
]
Skip = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Leave out names that fit; may be repeated."),
]
KnownFailing = Annotated[
    Path | None,
    typer.Option(
        help="File of names that are known to fail, a pattern a line.", exists=True, dir_okay=False
    ),
]


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
    run: Run = None,
    skip: Skip = None,
    known_failing: KnownFailing = None,
    junit: JUnit = None,
    as_json: Json = None,
    show: Annotated[
        bool, typer.Option("--list", help="Print the checks, and check nothing.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of what the checks draw.")] = 0,
) -> None:
    """Check the server at TARGET against the protocol; it serves 'Conformance/*'.

    Exit 0 when it conforms, 1 when a required check failed or was skipped for want of an environment, or a known
    failure passes, 2 for a wrong command line, 3 when nobody answers.

    Example: envwire conformance localhost:50051 --profile core,stream
    """
    from envwire.conformance import checks
    from envwire.conformance.report import listing

    del checks  # imported only to register the checks
    runner = _runner(target, env, profile, config, run, skip, known_failing, seed)
    if show:
        typer.echo("\n".join(listing(runner.selection.checks())))
        return
    if not target:
        stop("conformance", "name a TARGET, HOST:PORT of a server", USAGE)
    if not any(runner.selection.checks()):
        stop("conformance", "no check fits; `envwire conformance --list` names them", USAGE)
    sys.exit(report_results("conformance", runner.results(), junit, as_json))


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
        stop("conformance", error, USAGE)
    profiles = tuple(one for one in profile.split(",") if one) or given.profiles
    if unknown := set(profiles) - PROFILES.keys():
        unknown_names = ", ".join(sorted(unknown))
        stop("conformance", f"no profile {unknown_names}; there are {', '.join(PROFILES)}", USAGE)
    return Runner(
        given.access,
        Selection(profiles, tuple(run or ()), (*given.skip, *(skip or ()))),
        known,
        seed,
        given.seconds,
        {**given.environments, **({"Counter": env} if env else {})},
    )


def report_results(
    command: str, results: Iterator[Result], junit: Path | None, as_json: Path | None
) -> int:
    """Prints the results of a command and writes them to files, and returns the exit status."""
    from envwire.conformance.outcomes import UnreachableError
    from envwire.conformance.report import Counts, badge, json_text, junit_text, line, needs

    counts, kept = Counts(), list["Result"]()
    try:
        for result in results:
            typer.echo(line(result))
            counts.add(result)
            kept.append(result)
    except UnreachableError as error:
        stop(command, error, UNREACHABLE)
    for path, text in ((junit, junit_text), (as_json, json_text)):
        if path is not None:
            path.write_text(text(kept), encoding="utf-8")
    typer.echo("\n".join([*needs(counts), badge(counts)]))
    return BROKEN if counts.broken or counts.missing or not kept else 0


def stop(command: str, text: object, status: int) -> NoReturn:
    """Ends a command with a message."""
    typer.echo(f"envwire {command}: {text}", err=True)
    sys.exit(status)
