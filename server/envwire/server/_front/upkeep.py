"""Upkeep: periodic work of the front, ten times a second, and the drain when the server stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from envwire.server._auth.access import Access
from envwire.server._front.makes.admission import Admission
from envwire.server._front.sessions.life import Event
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.allocation import Heap

_log = logging.getLogger("envwire.server")

_SWEEP_SECONDS = 0.1
#: Seconds between two checks of the heap, each of which takes some 10 us.
_HEAP_SECONDS = 2.0


class Upkeep:
    """Sweeps, drains and ends the sessions of one server.

    Args:
        access: Knows which clients were revoked.
        admission: Closed when the server drains.
        sessions: The sessions.
        sweeps: Also called at each sweep.
    """

    def __init__(
        self, access: Access, admission: Admission, sessions: Sessions, *sweeps: Callable[[], None]
    ) -> None:
        self._access = access
        self._admission = admission
        self._sessions = sessions
        self._sweeps = sweeps
        self._heap, self._heap_at = Heap(), 0.0
        self._sweeper = asyncio.ensure_future(self._sweep_forever())

    async def _sweep_forever(self) -> None:
        while True:
            asleep_since = self._sessions.clock()
            await asyncio.sleep(_SWEEP_SECONDS)
            try:
                self._sweep(self._sessions.clock() - asleep_since)
            except Exception:
                # One session's failure must not stop the leases and deadlines of the others.
                _log.exception("a sweep failed")

    def _sweep(self, asleep: float) -> None:
        self._sessions.discount_stall(asleep)
        self._sessions.sweep()
        for sweep in self._sweeps:
            sweep()
        self._sessions.end_revoked(self._access.revoked)
        if self._sessions.clock() >= self._heap_at:
            self._heap_at = self._sessions.clock() + _HEAP_SECONDS
            self._heap.trim()

    async def drain(self, timeout: float) -> None:
        """Refuses new sessions and waits up to `timeout` seconds until the open ones have ended."""
        self._admission.close()
        _log.info("draining: %d sessions have %g s to end", len(self._sessions), timeout)
        for process in {session.process for session in self._sessions}:
            process.tell_draining(timeout)
        deadline = self._sessions.clock() + timeout
        while len(self._sessions) and self._sessions.clock() < deadline:
            await asyncio.sleep(_SWEEP_SECONDS)

    async def stop(self) -> None:
        """Ends all sessions, closing their environments. Stopping twice is harmless."""
        self._admission.close()
        self._sweeper.cancel()
        ending = {session.process for session in self._sessions}
        for session in self._sessions:
            session.end(Event.DRAIN)
        await asyncio.gather(*(process.wait_exited() for process in ending))
