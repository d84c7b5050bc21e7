"""Session processes whose fork server is gone: the front is their parent now, where it inherits orphans.

They go on. The front hears how they end, and kills what they leave behind, as their fork server did.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping

from envwire.server._ipc.orphans import inherited, kill

#: How often the front looks after them. A look costs 0.2 ms, and there are none before a fork server is lost.
_LOOK_SECONDS = 0.1


class Adopted:
    """Looks after the children that the front did not start itself, until there are none.

    Attributes:
        copying: How many sessions are about to fork themselves: a copy is no orphan, to be killed.
    """

    def __init__(self) -> None:
        self.copying = 0
        self._on_exit: dict[int, Callable[[int], None]] = {}
        self._next: asyncio.TimerHandle | None = None

    def take(self, sessions: Mapping[int, Callable[[int], None]]) -> None:
        """Takes sessions whose fork server has ended; each is told its exit status."""
        self._on_exit.update(sessions)
        if self._next is None:
            self._look()

    def stop(self) -> None:
        """Kills what is left."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
            kill(inherited())

    def _look(self) -> None:
        found = inherited()
        if not self.copying:
            kill(found - self._on_exit.keys())
        for pid in found:
            self._reap(pid)
        # Where the front is not their parent, nobody hears how they end.
        self._on_exit = {pid: told for pid, told in self._on_exit.items() if pid in found}
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(_LOOK_SECONDS, self._look) if found else None

    def _reap(self, pid: int) -> None:
        with contextlib.suppress(ChildProcessError):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return
            # Until it is reaped its number is its own: whatever is left of its group goes now.
            kill([pid])
            _, status = os.waitpid(pid, 0)
            if on_exit := self._on_exit.pop(pid, None):
                on_exit(os.waitstatus_to_exitcode(status))
