"""A fork that was requested from a fork server, and how it can fail."""

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
class PendingFork:
    """A fork that the fork server was asked for and has not answered yet.

    Attributes:
        on_exit: Called with the process's exit status.
        overdue: Timer that gives up the fork server.
        pid: Future of the process id.
    """

    on_exit: OnExit
    overdue: asyncio.TimerHandle

    def __post_init__(self) -> None:
        self.pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def settle(self, outcome: int | ForkserverError) -> None:
        """Completes the fork with its process id, or with the error that its caller gets."""
        self.overdue.cancel()
        if self.pid.done():  # the caller no longer waits
            return
        if isinstance(outcome, int):
            self.pid.set_result(outcome)
        else:
            self.pid.set_exception(outcome)
