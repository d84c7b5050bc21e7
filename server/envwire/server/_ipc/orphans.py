"""Ends orphans: processes that a session's process started and left behind.

Launchers of simulators start them in a session of their own, where no signal to a process group reaches them. Each
session's process inherits what its environment orphans; when it goes, its parent inherits the lot and kills it. When
the fork server goes, the front inherits sessions and orphans.

The front may have other children as well: those of a script that became the server by `exec`, and where it is process 1
of a container, the orphans of `docker exec`. What descends from the fork server is told apart by a limit that processes
cannot raise again, that of core dumps: 0 bytes. A front that has this limit itself counts all of them as orphans.
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
#: Children that this process started itself, which are not orphans.
spared: set[int] = set()


def inherit_orphans(inherit: bool = True) -> None:
    """Makes this process the parent of orphans among its descendants, or no longer."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(inherit), 0, 0, 0)


def mark_descendants() -> None:
    """Marks this process, and all that descend from it, as what orphans come from. None of them dumps core."""
    with contextlib.suppress(OSError, ValueError):  # a sandbox may refuse
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def inherited() -> set[int]:
    """Returns sessions and orphans that this process inherited; none where it inherits no orphans."""
    inherits = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(inherits), 0, 0, 0)
    return set(filter(_is_marked, children() - spared)) if inherits.value else set()


def _is_marked(pid: int) -> bool:
    try:
        return resource.prlimit(pid, resource.RLIMIT_CORE)[1] == 0
    except OSError:  # it is gone, or another user's
        return False


def children() -> set[int]:
    """Returns the numbers of this process's children, those that have ended and were not reaped included."""
    try:
        return {pid for thread in Path("/proc/self/task").iterdir() for pid in _listed(thread)}
    except OSError:  # the kernel was built without /proc/.../children
        return set(_found())


def _listed(thread: Path) -> Iterator[int]:
    with contextlib.suppress(ProcessLookupError):  # the thread has ended
        yield from map(int, (thread / "children").read_text(encoding="ascii").split())


def _found() -> Iterator[int]:
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
            if int(status.rpartition(")")[2].split()[1]) == os.getpid():
                yield int(entry)


def kill(pids: Collection[int]) -> None:
    """Kills processes and what is left of the groups that they lead; those that are gone count as killed."""
    for pid in pids:
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(pid, signal.SIGKILL)
