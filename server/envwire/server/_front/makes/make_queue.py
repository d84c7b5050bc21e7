"""Queue of Make requests that wait for a free slot, bounded in length and in waiting time."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from envwire.codec import FaultError
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.fault_replies import afresh


@dataclass(eq=False)
class _Turn:
    """One that waits."""

    owner: str
    come: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Queue:
    """Reserves slots, for those that wait as soon as one is free.

    Args:
        sessions: Whose slots.
        length: How many may wait at once; 0 for none.
        timeout: Seconds that one may wait.
    """

    def __init__(self, sessions: Sessions, length: int, timeout: float) -> None:
        self._sessions = sessions
        self._length = length
        self._timeout = timeout
        self._turns: deque[_Turn] = deque()
        sessions.on_free = self._advance

    def __len__(self) -> int:
        return len(self._turns)

    async def reserve(self, owner: str) -> None:
        """Reserves a slot (see `Sessions.reserve`), when there is room here not before one is free.

        Raises:
            FaultError: CLIENT_LIMIT_REACHED; CAPACITY_REACHED: there is no room, or the time is up.
        """
        self._sessions.check_share(owner, sum(turn.owner == owner for turn in self._turns))
        if not self._turns and not self._sessions.full:
            self._sessions.reserve(owner)
        elif len(self._turns) < self._length:
            await self._wait(_Turn(owner))
        else:
            raise self._sessions.no_slot(f"; {len(self._turns)} wait already" * bool(self._length))

    async def _wait(self, turn: _Turn) -> None:
        self._turns.append(turn)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._timeout, self._give_up, turn)
        try:
            await turn.come
        except asyncio.CancelledError:
            if not turn.come.cancelled() and turn.come.exception() is None:  # in the same moment
                self._sessions.unreserve(turn.owner)
            raise
        finally:
            timer.cancel()
            if turn in self._turns:
                self._turns.remove(turn)

    def _give_up(self, turn: _Turn) -> None:
        if not turn.come.done():
            waited = f", and none was freed within {self._timeout:g} s"
            turn.come.set_exception(self._sessions.no_slot(waited))

    def _advance(self) -> None:
        """Gives slots that are free to those that have waited longest."""
        while self._turns and not self._sessions.full:
            turn = self._turns.popleft()
            if turn.come.done():
                continue
            try:
                self._sessions.reserve(turn.owner)
            except FaultError as fault:
                turn.come.set_exception(fault)
            else:
                turn.come.set_result(None)

    def reject_all(self, fault: FaultError) -> None:
        """Sends all away that wait."""
        while self._turns:
            turn = self._turns.popleft()
            if not turn.come.done():
                turn.come.set_exception(afresh(fault))
