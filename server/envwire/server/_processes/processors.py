"""How many processors the sessions of this server have."""

from __future__ import annotations

import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def cpu_count() -> int:
    """Returns how many processes can run here at the same time: no more than a container's quota allows."""
    affinity = getattr(os, "sched_getaffinity", None)
    usable = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(usable, _quota() or usable))


def _quota() -> int:
    """Returns the processors of this control group's quota, rounded up; 0 for no quota."""
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return 0 if quota == "max" else -(-int(quota) // int(period))
