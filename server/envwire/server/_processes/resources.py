"""What a process has taken of the machine, as the kernel counts it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
#: Fields of /proc/PID/stat behind the name: user and system time, of the process and of its ended children.
_TIMES = slice(11, 15)
#: The field of its memory, in pages.
_RESIDENT = 21
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PEAK = "VmHWM:"


class Resources(NamedTuple):
    """Resources of one process.

    Attributes:
        cpu: Seconds of processor time, with those of children that have ended.
        peak: Most memory that it held at once, in bytes; 0 if it is unknown.
    """

    cpu: float
    peak: int


class Usage(NamedTuple):
    """What one process takes.

    Attributes:
        cpu: Seconds of processor time, with those of children that have ended.
        memory: Bytes of memory that it holds now, shared ones included.
    """

    cpu: float
    memory: int


def _stat(pid: int) -> list[str]:
    """Returns the fields behind the name in /proc/PID/stat."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _cpu(fields: list[str]) -> float:
    return sum(map(int, fields[_TIMES])) / _TICKS


def usage_of(pid: int) -> Usage | None:
    """Returns what a process takes, which costs about 15 us; None if it is gone."""
    try:
        fields = _stat(pid)
    except OSError:
        return None
    return Usage(_cpu(fields), int(fields[_RESIDENT]) * _PAGE)


def resources_of(pid: int) -> Resources | None:
    """Returns what a process has taken so far; None if it is gone."""
    try:
        fields, status = _stat(pid), Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    peak = status.partition(_PEAK)[2].split()[:1]  # a process that has ended has no line
    return Resources(_cpu(fields), int(peak[0]) * 1024 if peak else 0)
