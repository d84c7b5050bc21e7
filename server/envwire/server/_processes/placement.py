"""Placement: chooses the process of a session, its own or one that sessions share; counts the processors for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from envwire.server._processes.forkserver_start import ForkserverLostError
from envwire.server._processes.process import Fork, Process
from envwire.server.config import ServerConfig

#: Fork servers that a Make may lose: one that was killed unnoticed, and the next one, which is stopped in its start.
_LOST_FORKSERVERS = 2
#: Where control groups are: those of version 1 have a folder for processors.
_GROUPS = Path("/sys/fs/cgroup")


class Placement:
    """Finds processes for new sessions, and starts them.

    Only one Make at a time looks for a free slot, so that no more processes start than needed; forks run one by one
    anyway. The caller must open the process before it awaits anything else, or it may lose the slot.

    Args:
        config: The server's settings.
        fork: Forks a process.
    """

    def __init__(self, config: ServerConfig, fork: Fork) -> None:
        self._config = config
        self._slots = config.sessions_per_process
        self._fork = fork
        self._shared: dict[Process, str] = {}
        self._turn = asyncio.Lock()

    async def find(self, client: str) -> Process:
        """Returns a process with a free slot, starting a new one if there is none.

        Args:
            client: The session's client. Different clients share a process only if the operator allows it.

        Raises:
            ForkserverError: No process could be forked.
            OSError: Too many files are open.
        """
        if self._slots == 1:
            return await self.start(self._fork)
        async with self._turn:
            self._shared = {each: owner for each, owner in self._shared.items() if each.alive}
            for process, owner in self._shared.items():
                if process.free and (self._config.share_processes or owner == client):
                    return process
            process = await self.start(self._fork, self._slots)
            self._shared[process] = client
            return process

    async def fresh(self) -> Process:
        """Starts a process that belongs to no client yet; `find` does not return it.

        Raises:
            ForkserverError: No process could be forked.
            OSError: Too many files are open.
        """
        return await self.start(self._fork, self._slots)

    def give(self, process: Process, client: str) -> None:
        """Makes a process available to further sessions of the client whose first session it holds."""
        if self._slots > 1:
            self._shared[process] = client

    async def start(self, fork: Fork, slots: int = 1) -> Process:
        """Starts a process.

        Raises:
            FaultError: UNSUPPORTED: the process cannot copy itself.
            ForkserverError: No process could be forked, not even by a new fork server.
            OSError: Too many files are open.
        """
        for _ in range(_LOST_FORKSERVERS):
            # Nothing was made yet, so it is safe to retry.
            with contextlib.suppress(ForkserverLostError):
                return await Process.spawn(fork, slots, self._config.max_message_bytes)
        return await Process.spawn(fork, slots, self._config.max_message_bytes)


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
        with contextlib.suppress(OSError, ValueError):
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
