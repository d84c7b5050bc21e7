"""Code that evades being killed does not outlive its session if each session has its own control group."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from envwire.server._worker.confining.control_groups import ControlGroups, own_group
from tests.adversary.client import Attacker
from tests.adversary.environments import ALIVE
from tests.adversary.ledger import eventually, has_control_groups
from tests.adversary.messages import Session, value
from tests.adversary.servers import Target, attacked
from tests.adversary.test_processes import (
    ESCAPER,
    GONE_SECONDS,
    close,
    kill_the_front,
    start,
    stop_the_server,
)
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(
    not has_control_groups(),
    reason="no control groups of version 2 beneath which a process may make others",
)
#: Starts and ends what a server does with groups, in a PID namespace of its own.
ELSEWHERE = (
    *("unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c"),
    f"from {ControlGroups.__module__} import ControlGroups; ControlGroups.here().close(1.0)",
)
End = Callable[[Target, Attacker, Session], None]


@pytest.mark.parametrize(
    ("end", "processes"), [(close, 2), (kill_the_front, 0), (stop_the_server, 0)]
)
@pytest.mark.parametrize("escape", ["fork without end", "leave its control group"])
def test_code_that_fights_for_it_does_not_outlive_its_session(
    escape: str, end: End, processes: int
) -> None:
    with attacked(ESCAPER, lease=60.0) as target, target.attacker() as attacker:
        session = start(attacker)
        with witnessed(target) as lives:
            assert attacker.ask(session, "step", 2, action=value(escape)).verdict() == "answered"
            assert eventually(lambda: lives() or len(target.processes()) > 3)
            end(target, attacker, session)
            assert eventually(
                lambda: not lives() and len(target.processes()) <= processes, GONE_SECONDS
            )
        assert target.traces("left") == []


def test_a_server_leaves_no_group_behind() -> None:
    with attacked(ESCAPER, lease=60.0) as target, target.attacker() as attacker:
        session = start(attacker)
        before = groups()
        assert before
        close(target, attacker, session)
        assert eventually(lambda: len(target.processes()) <= 2)
        assert eventually(lambda: groups() < before)
        stop_the_server(target, attacker, session)
        assert eventually(lambda: not target.processes())
        assert not {each for each in groups() if not process_of(each).exists()}


@pytest.mark.skipif(os.geteuid() != 0, reason="takes a PID namespace: run as root")
def test_a_server_in_another_pid_namespace_leaves_the_groups_alone() -> None:
    with attacked(ESCAPER) as target, target.attacker() as attacker:
        subprocess.run(ELSEWHERE, check=True, cwd=ROOT)
        start(attacker)


@contextmanager
def witnessed(target: Target) -> Iterator[Callable[[], bool]]:
    """Yields what tells whether code that forks without end still runs.

    Reading the list of processes takes longer than each of its processes lives, so it is rarely found there: on a busy
    machine in none of 200 tries. They share the end of a pipe, which closes with the last of them.
    """
    pipe = Path(target.directory, ALIVE)
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def lives() -> bool:
        try:
            return os.read(reading, 1) != b""
        except BlockingIOError:
            return True

    try:
        yield lives
    finally:
        os.close(reading)


def groups() -> set[Path]:
    """Returns the groups of servers and of their sessions beneath this process's own."""
    found: set[Path] = set()
    for server in (own_group() or Path()).glob("envwire_*"):
        with suppress(FileNotFoundError):  # that of another test's server, which has just ended
            found.update(each for each in server.iterdir() if each.is_dir())
    return found


def process_of(group: Path) -> Path:
    """Returns what there is in /proc of the fork server that made a session's group."""
    return Path("/proc", group.parent.name.rpartition("_")[2])
