"""The table of docs/threats.md: which protection holds by which means, and on which kernel, tried on this one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from envwire.client import RemoteEnv
from envwire.server import Server
from envwire.server._worker.confining.confinement import not_held
from envwire.server._worker.confining.landlock import landlock_version
from envwire.server._worker.confining.system_calls import filters_calls
from tests.conftest import ROOT
from tests.security.test_confinement import ask, directory, processes_around, spies  # noqa: F401

Spies = tuple[RemoteEnv, RemoteEnv, Server]


class Around(NamedTuple):
    """An environment, and what is around it."""

    spy: RemoteEnv
    secret: str
    front: int
    fork_server: int
    other: int


def fails(around: Around, *command: str) -> bool:
    return bool(ask(around.spy, "output_of", list(command))[-1] != "0")


def governed(around: Around) -> set[str]:
    pids = (around.front, around.fork_server, around.other)
    return {name for pid in pids for name in ask(around.spy, "governed", pid)}


#: Whether a row of the table holds, by how the row begins.
HOLDS: dict[str, Callable[[Around], bool]] = {
    "read the server's key": lambda a: ask(a.spy, "opened", [a.secret]) == [],
    "change or replace keys": lambda a: ask(a.spy, "changed", a.secret) == [],
    "write to `/proc`": lambda a: fails(a, "sh", "-c", ": >> /proc/sys/kernel/core_pattern"),
    "read the front's memory": lambda a: ask(a.spy, "seized", a.front) == [],
    "read other sessions' memory": lambda a: ask(a.spy, "seized", a.other) == [],
    "read environment variables": lambda a: (
        ask(a.spy, "opened", [f"/proc/{a.other}/environ"]) == []
    ),
    "signal the front": lambda a: ask(a.spy, "signalled", [a.front, a.fork_server, a.other]) == [],
    "set limits, priority": lambda a: governed(a) <= {"who dies first", "time slices"},
    "have others killed first": lambda a: "who dies first" not in governed(a),
    "mount, trace the kernel": lambda a: fails(a, "mount", "-t", "tmpfs", "none", "/mnt"),
    "gain privileges": lambda a: not fails(a, "grep", "NoNewPrivs:.1", "/proc/self/status"),
}


def table() -> list[list[str]]:
    """Returns the rows: what an environment cannot do, by what, and a cell for each kernel, newest first."""
    text = (Path(ROOT) / "docs" / "threats.md").read_text("utf-8")
    rows = text.partition("| an environment cannot | by |")[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in rows.splitlines()[2:]]


def cell(row: list[str]) -> str:
    """Returns a row's cell for this kernel."""
    if row[1] == "seccomp":
        return row[-1] if filters_calls() else "no"
    versions = [6, 3, 1, 0]  # of Landlock, in the order of the columns
    return row[2 + next(at for at, least in enumerate(versions) if landlock_version() >= least)]


@pytest.mark.parametrize("row", table(), ids=lambda row: str(row[0])[:40])
def test_the_table_is_true_of_this_kernel(row: list[str], spies: Spies, directory: Path) -> None:  # noqa: F811
    (holds,) = (check for begins, check in HOLDS.items() if row[0].startswith(begins))
    front, fork_server, other = processes_around(spies)
    around = Around(spies[0], str(directory / "tokens"), front, fork_server, other)
    said = cell(row)
    if said.startswith(("not", "only", "of", "it")):
        pytest.skip(f"on this kernel it depends: {said}")
    expected = said.startswith("yes") and not ("not root" in said and os.geteuid() == 0)
    assert holds(around) == expected, said


KERNELS: list[tuple[int, bool, list[str]]] = [
    (7, True, []),
    (5, True, ["signal"]),
    (2, True, ["signal", "empty"]),
    (0, True, ["Landlock"]),
    (0, False, ["Landlock", "seccomp"]),
    (7, False, ["seccomp"]),
]


@pytest.mark.parametrize(("landlock", "seccomp", "told"), KERNELS)
def test_what_a_kernel_does_not_hold_is_told_in_a_line(
    landlock: int, seccomp: bool, told: list[str]
) -> None:
    text = not_held(landlock, seccomp)
    assert "\n" not in text
    assert all(word in text for word in told)
    assert bool(text) == bool(told)
