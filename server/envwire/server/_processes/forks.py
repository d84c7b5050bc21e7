"""The forks that a fork server was asked for, until it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from envwire.server._processes.forkserver_start import ForkserverError

#: Called with a session's exit status; negative: the signal that killed it.
OnExit = Callable[[int], None]


class ForkError(ForkserverError):
    """The system has no process, memory or file to give at the moment."""


class ForkserverLostError(ForkserverError):
    """The fork server died, or was killed because it did not answer; the next fork starts another one."""


@dataclass(eq=False)
class _Fork:
    """A fork under way.

    Attributes:
        pid: The number of the process.
        on_exit: Called with the status with which the process ended.
        overdue: Gives the fork server up.
    """

    pid: asyncio.Future[int]
    on_exit: OnExit
    overdue: asyncio.TimerHandle


class PendingForks:
    """Forks under way, by the numbers that requests and answers carry."""

    def __init__(self) -> None:
        self._forks: dict[int, _Fork] = {}

    def add(
        self, number: int, on_exit: OnExit, overdue: asyncio.TimerHandle
    ) -> asyncio.Future[int]:
        """Adds a fork that was asked for, and returns the future of its process's number.

        Args:
            number: Of the request.
            on_exit: Called with the status with which the process ended.
            overdue: Fires when the fork takes too long.
        """
        fork = _Fork(asyncio.get_running_loop().create_future(), on_exit, overdue)
        self._forks[number] = fork
        return fork.pid

    def forked(self, number: int, pid: int) -> OnExit:
        """Settles a fork; returns what is to be called when the process ends."""
        fork = self._settle(number)
        if not fork.pid.done():
            fork.pid.set_result(pid)
        return fork.on_exit

    def fail(self, number: int, error: ForkserverError) -> None:
        """Settles a fork with the error that its caller gets."""
        fork = self._settle(number)
        if not fork.pid.done():
            fork.pid.set_exception(error)

    def fail_all(self) -> None:
        """Settles all forks: the fork server is gone."""
        for number in list(self._forks):
            self.fail(number, ForkserverLostError("the fork server is gone"))

    def _settle(self, number: int) -> _Fork:
        fork = self._forks.pop(number)
        fork.overdue.cancel()
        return fork
