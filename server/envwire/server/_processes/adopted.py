"""Session processes whose fork server is gone. The front becomes their parent, if it inherits orphans.

They keep running. The front learns how they end and kills what they leave behind, as their fork server did.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping

from envwire.server._ipc.orphans import inherited, kill, reap

#: Seconds between two checks. A check takes 0.2 ms, and there are none until a fork server is lost.
_POLL_SECONDS = 0.1


class Adopted:
    """Watches the children that the front did not start itself, until there are none.

    Attributes:
        copying: How many sessions are about to fork themselves: a copy must not be killed as an orphan.
    """

    def __init__(self) -> None:
        self.copying = 0
        self._on_exit: dict[int, Callable[[int], None]] = {}
        self._next: asyncio.TimerHandle | None = None

    def __contains__(self, pid: int) -> bool:
        return pid in self._on_exit

    def take(self, sessions: Mapping[int, Callable[[int], None]]) -> None:
        """Adopts sessions whose fork server has ended; each callback gets its session's exit status."""
        self._on_exit.update(sessions)
        if self._next is None:
            self._check()

    def stop(self) -> None:
        """Kills the processes that are left."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
            kill(inherited())

    def _check(self) -> None:
        found = inherited()
        if not self.copying:
            kill(found - self._on_exit.keys())
        for pid in found:
            reaped = reap(os.P_PID, pid)
            if reaped and (on_exit := self._on_exit.pop(pid, None)):
                on_exit(reaped[1])
        # If the front is not their parent, their exit status is lost.
        self._on_exit = {pid: told for pid, told in self._on_exit.items() if pid in found}
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(_POLL_SECONDS, self._check) if found else None
