"""Counts the processors that sessions may use."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_QUOTA_V1 = Path("/sys/fs/cgroup/cpu")


def cpu_count() -> int:
    """Returns the number of available processors, limited by a container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    usable = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(usable, _quota() or usable))


def _quota() -> int:
    """Returns this control group's quota in processors, rounded up; 0 for no quota."""
    for read in (_read_quota, _read_quota_v1):
        with contextlib.suppress(OSError, ValueError):
            quota, period = read()
            return -(-quota // period) if quota > 0 and period > 0 else 0
    return 0


def _read_quota() -> tuple[int, int]:
    """Returns the quota of processor time, 0 for unlimited, and its period, both in microseconds."""
    quota, period = _QUOTA.read_text(encoding="ascii").split()
    return 0 if quota == "max" else int(quota), int(period)


def _read_quota_v1() -> tuple[int, int]:
    """Returns the same for control groups version 1, where a quota of -1 is unlimited."""
    quota = (_QUOTA_V1 / "cpu.cfs_quota_us").read_text(encoding="ascii")
    return int(quota), int((_QUOTA_V1 / "cpu.cfs_period_us").read_text(encoding="ascii"))
