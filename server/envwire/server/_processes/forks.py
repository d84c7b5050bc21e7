"""Forks that a fork server was asked for and has not answered yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from envwire.server._processes.forkserver_start import ForkserverError

#: Called with a session process's exit status, negative for the signal that killed it.
OnExit = Callable[[int], None]


class ForkError(ForkserverError):
    """The system is temporarily out of processes, memory or files."""


class ForkserverLostError(ForkserverError):
    """The fork server died, or was killed because it did not answer; the next fork starts a new one."""


@dataclass(eq=False)
class _Fork:
    """A pending fork.

    Attributes:
        pid: Future of the process id.
        on_exit: Called with the process's exit status.
        overdue: Timer that gives up the fork server.
    """

    pid: asyncio.Future[int]
    on_exit: OnExit
    overdue: asyncio.TimerHandle


class PendingForks:
    """Pending forks, by the numbers of their requests."""

    def __init__(self) -> None:
        self._forks: dict[int, _Fork] = {}

    def add(
        self, number: int, on_exit: OnExit, overdue: asyncio.TimerHandle
    ) -> asyncio.Future[int]:
        """Adds a requested fork and returns the future of its process id.

        Args:
            number: Number of the request.
            on_exit: Called with the process's exit status.
            overdue: Timer that fires when the fork takes too long.
        """
        fork = _Fork(asyncio.get_running_loop().create_future(), on_exit, overdue)
        self._forks[number] = fork
        return fork.pid

    def forked(self, number: int, pid: int) -> OnExit:
        """Completes a fork; returns the callback for the process's exit."""
        fork = self._settle(number)
        if not fork.pid.done():
            fork.pid.set_result(pid)
        return fork.on_exit

    def fail(self, number: int, error: ForkserverError) -> None:
        """Fails a fork; its caller gets the error."""
        fork = self._settle(number)
        if not fork.pid.done():
            fork.pid.set_exception(error)

    def fail_all(self) -> None:
        """Fails all pending forks, since the fork server is gone."""
        for number in list(self._forks):
            self.fail(number, ForkserverLostError("the fork server is gone"))

    def _settle(self, number: int) -> _Fork:
        fork = self._forks.pop(number)
        fork.overdue.cancel()
        return fork
