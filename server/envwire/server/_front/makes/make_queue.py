"""Queue of Make requests that wait for a free slot, bounded in length and in waiting time."""

from __future__ import annotations

from envwire.codec import FaultError
from envwire.server._front.makes.waiting import WaitingLine
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.fault_replies import afresh


class Queue:
    """Reserves slots; a Make that finds none waits until one is free.

    Args:
        sessions: Whose slots.
        length: How many may wait at once; 0 for none.
        timeout: Seconds that one may wait.
    """

    def __init__(self, sessions: Sessions, length: int, timeout: float) -> None:
        self._sessions = sessions
        self._length = length
        self._timeout = timeout
        #: Owners of the slots that are waited for.
        self._line = WaitingLine[str, None](lambda owner, _: sessions.unreserve(owner))
        sessions.on_free = self._advance

    def __len__(self) -> int:
        return len(self._line)

    async def reserve(self, owner: str, reservation: bytes = b"") -> None:
        """Reserves a slot (see `Sessions.reserve`), waiting for one if there is room to wait.

        Args:
            owner: Name of the client.
            reservation: Names slots that may be kept for it.

        Raises:
            FaultError: CLIENT_LIMIT_REACHED; CAPACITY_REACHED: there is no room, or the time is up.
        """
        self._sessions.check_share(owner, sum(turn.want == owner for turn in self._line))
        if self._sessions.reservations.has(reservation) or not (self._line or self._sessions.full):
            self._sessions.reserve(owner, reservation)
        elif len(self._line) < self._length:
            await self._line.wait(owner, self._timeout, self._too_late)
        else:
            raise self._sessions.no_slot(f"; {len(self._line)} wait already" * bool(self._length))

    def _too_late(self, _: str) -> FaultError:
        return self._sessions.no_slot(f", and none was freed within {self._timeout:g} s")

    def _advance(self) -> None:
        """Gives slots that are free to those that have waited longest."""
        for turn in self._line:
            if self._sessions.full:
                return
            try:
                self._sessions.reserve(turn.want)
            except FaultError as fault:
                turn.come.set_exception(fault)
            else:
                turn.come.set_result(None)

    def reject_all(self, fault: FaultError) -> None:
        """Ends every wait with an error."""
        for turn in self._line:
            turn.come.set_exception(afresh(fault))
