"""Compares envwire with raw TCP, bare grpcio, dm_env_rpc, OpenEnv, remote-gym, Gymnasium, EnvPool: `make bench-peers`.

Each case runs in separate processes, with its server in another one. All cases of a group take turns, so that the
machine's noise affects all alike; the ratios are more reliable than the times. A peer that cannot be installed or
started is listed with the reason.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.peers.goals import GOALS
from benchmarks.peers.machine import describe, sentence
from benchmarks.peers.plan import SECTIONS, VENVS, Section
from benchmarks.peers.results import Outcome, Results
from benchmarks.peers.rounds import Effort, measure
from benchmarks.peers.tables import show_goals, show_section

QUICK = Effort(rounds=3, seconds=0.05)
FULL = Effort(rounds=15, seconds=0.2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    parser.add_argument("--sections", default=",".join(SECTIONS), help="default: %(default)s")
    parser.add_argument(
        "--quick", action="store_true", help="few short rounds, to see that all works"
    )
    parser.add_argument("--rounds", type=int, help=f"default: {FULL.rounds}")
    parser.add_argument("--seconds", type=float, help=f"of a round; default: {FULL.seconds}")
    parser.add_argument("--pin", action="store_true", help="keep clients and servers on one core")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw numbers")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them, as SVG or PNG")
    arguments = parser.parse_args()
    arguments.sections = arguments.sections.split(",")
    if unknown := [name for name in arguments.sections if name not in SECTIONS]:
        parser.error(f"unknown section {unknown[0]!r}; choose of {', '.join(SECTIONS)}")
    return arguments


def _effort(arguments: argparse.Namespace) -> Effort:
    usual = QUICK if arguments.quick else FULL
    core = 0 if arguments.pin else None
    return Effort(arguments.rounds or usual.rounds, arguments.seconds or usual.seconds, core)


def _measure(console: Console, sections: dict[str, Section], effort: Effort) -> Results:
    outcomes: list[Outcome] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        groups = [(key, group) for key, section in sections.items() for group in section.groups]
        task = progress.add_task("", total=len(groups) * effort.rounds)
        for key, group in groups:

            def rounds(name: str = f"{key}: {group.name}") -> Iterable[int]:
                progress.update(task, description=name)
                for number in range(effort.rounds):
                    yield number
                    progress.advance(task)

            progress.update(task, description=f"{key}: starting {group.name}")
            outcomes += measure(key, group, effort, rounds)
    return Results(outcomes)


def _show(console: Console, sections: dict[str, Section], results: Results) -> None:
    for key, section in sections.items():
        show_section(console, key, section, results)
    show_goals(console, [goal.judge(results) for goal in GOALS if goal.section in sections])


def _write(path: Path, machine: dict[str, Any], effort: Effort, results: Results) -> None:
    numbers = {
        "machine": machine,
        "rounds": effort.rounds,
        "seconds": effort.seconds,
        "pinned": effort.core is not None,
        "outcomes": results.to_list(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(numbers) + "\n")


def _plot(console: Console, numbers: Path, picture: Path) -> None:
    python = VENVS / "plot" / "bin" / "python"
    if not python.exists():
        console.print("no plot: benchmarks/peers/install.sh installs matplotlib for it")
        return
    picture.parent.mkdir(parents=True, exist_ok=True)
    command = [str(python), "-m", "benchmarks.peers.plot", str(numbers), str(picture)]
    subprocess.run(command, check=True, timeout=120)


def main() -> None:
    """Runs the benchmark."""
    arguments = _arguments()
    if arguments.plot and not arguments.json:
        arguments.json = arguments.plot.with_suffix(".json")
    console, wide = Console(), Console(width=160)
    effort = _effort(arguments)
    sections = {name: SECTIONS[name]() for name in arguments.sections}
    machine = describe()
    results = _measure(console, sections, effort)
    _show(console if console.is_terminal else wide, sections, results)
    console.print(sentence(machine), highlight=False)
    if arguments.json:
        _write(arguments.json, machine, effort, results)
    if arguments.plot:
        _plot(console, arguments.json, arguments.plot)


if __name__ == "__main__":
    # Handled like Ctrl-C, so that all started processes are ended first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
