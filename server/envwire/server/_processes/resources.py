"""What a process has taken of the machine, as the kernel counts it, and the processors that it may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
#: Fields of /proc/PID/stat behind the name: user and system time, of the process and of its ended children.
_TIMES = slice(11, 15)
#: The field of its memory, in pages.
_RESIDENT = 21
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PEAK = "VmHWM:"
#: Where control groups are: those of version 1 have a folder for processors.
_GROUPS = Path("/sys/fs/cgroup")


class Resources(NamedTuple):
    """What one process has taken.

    Attributes:
        cpu: Seconds of processor time, with those of its descendants.
        peak: Most memory that it held at once, in bytes; 0 if it is unknown.
    """

    cpu: float
    peak: int


class Usage(NamedTuple):
    """What one process takes, and those that it started: a simulator is often a process of its own.

    Attributes:
        cpu: Seconds of processor time, also of those that have ended.
        memory: Bytes of memory that they hold now, shared ones included.
    """

    cpu: float
    memory: int


def _stat(pid: int) -> list[str]:
    """Returns the fields behind the name in /proc/PID/stat."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _cpu(fields: list[str]) -> float:
    return sum(map(int, fields[_TIMES])) / _TICKS


def usage_of(pid: int) -> Usage | None:
    """Returns what a process and its descendants take; None if it is gone. It costs about 25 us for each."""
    try:
        usages = [Usage(_cpu(fields), int(fields[_RESIDENT]) * _PAGE) for fields in _stats(pid)]
    except OSError:
        return None
    return Usage(sum(each.cpu for each in usages), sum(each.memory for each in usages))


def _stats(pid: int) -> Iterator[list[str]]:
    """Yields the fields of a process and of those of its descendants that still run.

    Raises:
        OSError: It is gone.
    """
    yield _stat(pid)
    for child in _children(pid):
        with suppress(OSError):
            yield from _stats(child)


def _children(pid: int) -> list[int]:
    """Returns what the first thread of a process started; nothing if the kernel does not tell it."""
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


class ProcessorTime:
    """The processor time of a process, each second of which is counted for one of its sessions.

    Args:
        pid: Its process id.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen = self._taken = 0.0

    def left(self) -> float:
        """Returns the seconds that no session was counted for; as last seen if the process is gone."""
        if usage := usage_of(self._pid):
            self._seen = max(self._seen, usage.cpu)
        return self._seen - self._taken

    def take(self) -> float:
        """Returns them, and counts them."""
        left = self.left()
        self._taken += left
        return left


def resources_of(pid: int) -> Resources | None:
    """Returns what a process has taken so far; None if it is gone."""
    usage = usage_of(pid)
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    peak = status.partition(_PEAK)[2].split()[:1]  # a process that has ended has no line
    return usage and Resources(usage.cpu, int(peak[0]) * 1024 if peak else 0)


def cpu_count(groups: Path = _GROUPS) -> int:
    """Returns the number of available processors, limited by a container's quota.

    Args:
        groups: The folder of the control group.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    usable = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(usable, _quota(groups) or usable))


def _quota(groups: Path) -> int:
    """Returns this control group's quota in processors, rounded up; 0 for no quota."""
    for read in (_read_quota, _read_quota_v1):
        with suppress(OSError, ValueError):
            quota, period = read(groups)
            return -(-quota // period) if quota > 0 and period > 0 else 0
    return 0


def _read_quota(groups: Path) -> tuple[int, int]:
    """Returns the quota of processor time, 0 for unlimited, and its period, both in microseconds."""
    quota, period = (groups / "cpu.max").read_text(encoding="ascii").split()
    return 0 if quota == "max" else int(quota), int(period)


def _read_quota_v1(groups: Path) -> tuple[int, int]:
    """Returns the same for control groups version 1, where a quota of -1 is unlimited."""
    quota = (groups / "cpu" / "cpu.cfs_quota_us").read_text(encoding="ascii")
    return int(quota), int((groups / "cpu" / "cpu.cfs_period_us").read_text(encoding="ascii"))
