"""Kills orphans: processes that a session process started and left behind.

Launchers start simulators in a process session of their own, where no signal to a process group reaches them. A session
process therefore inherits its environment's orphans (as a subreaper); when it exits, its parent inherits and kills
them. When the fork server is gone, the front inherits sessions and orphans.

The front may have unrelated children: those of a script that became the server by `exec`, and as process 1 of a
container, the orphans of `docker exec`. Descendants of the fork server are recognized by a limit that a process cannot
raise again: a core dump size of 0 bytes. A front that has this limit itself counts all its children as orphans.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Collection, Iterator
from pathlib import Path

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
#: Children that this process started itself and that are not orphans.
spared: set[int] = set()


def inherit_orphans(inherit: bool = True) -> None:
    """Makes this process the parent of orphans among its descendants (a subreaper), or stops that."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(inherit), 0, 0, 0)


def mark_descendants() -> None:
    """Marks this process and all its descendants as potential orphans. None of them can dump core."""
    with contextlib.suppress(OSError, ValueError):  # a sandbox may refuse it
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def inherited() -> set[int]:
    """Returns the sessions and orphans that this process inherited; empty if it is not a subreaper."""
    inherits = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(inherits), 0, 0, 0)
    return set(filter(_is_marked, children() - spared)) if inherits.value else set()


def _is_marked(pid: int) -> bool:
    try:
        return resource.prlimit(pid, resource.RLIMIT_CORE)[1] == 0
    except OSError:  # it has ended, or is another user's
        return False


def children(of: int | None = None) -> set[int]:
    """Returns the pids of a process's children, including those that have ended but were not reaped.

    Args:
        of: The process; None for this one.
    """
    of = of or os.getpid()
    try:
        return {pid for thread in Path(f"/proc/{of}/task").iterdir() for pid in _listed(thread)}
    except OSError:  # the process has ended, or the kernel was built without /proc/.../children
        return set(_found(of))


def _listed(thread: Path) -> Iterator[int]:
    with contextlib.suppress(ProcessLookupError):  # the thread has ended
        yield from map(int, (thread / "children").read_text(encoding="ascii").split())


def _found(of: int) -> Iterator[int]:
    for entry in map(int, filter(str.isdigit, os.listdir("/proc"))):
        if parent(entry) == of:
            yield entry


def parent(pid: int) -> int:
    """Returns the pid of a process's parent; 0 if there is no such process."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(status.rpartition(")")[2].split()[1])


def reap(which: int, pid: int) -> tuple[int, int] | None:
    """Reaps a child that has ended, whose process group it kills first; None if there is none.

    Args:
        which: `os.P_PID`, or `os.P_ALL` for any child.
        pid: Its process id.

    Returns:
        Its process id, and its exit status, negative for the signal that killed it.
    """
    try:
        ended = os.waitid(which, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if ended is None:
        return None
    # Its pid is not reused until it is reaped, so its process group can be killed safely now.
    kill([ended.si_pid])
    _, status = os.waitpid(ended.si_pid, 0)
    return ended.si_pid, os.waitstatus_to_exitcode(status)


def kill(pids: Collection[int]) -> None:
    """Kills processes and the process groups that they lead; a process that is gone counts as killed.

    Numbers below 2 are left out: to the kernel they mean this process's group, all processes, or the system's first.
    """
    for pid in filter(lambda pid: pid > 1, pids):
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(pid, signal.SIGKILL)
