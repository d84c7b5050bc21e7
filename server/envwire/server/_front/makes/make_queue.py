"""Queue of Make requests that wait for a free slot, bounded in length and in waiting time."""

from __future__ import annotations

import copy
from typing import NamedTuple

from envwire.codec import FaultError
from envwire.server._front.makes.fair_queue import FairQueue
from envwire.server._front.sessions.table import Sessions


class Wanted(NamedTuple):
    """A request for a slot.

    Attributes:
        owner: Name of the client.
        group: Group of the environment.
    """

    owner: str
    group: str


class Queue:
    """Reserves slots; a Make that finds none waits until one is free.

    Args:
        sessions: The sessions, which hold the slots.
        length: How many Makes may wait at once; 0 for none.
        timeout: Longest wait, in seconds.
    """

    def __init__(self, sessions: Sessions, length: int, timeout: float) -> None:
        self._sessions = sessions
        self._length = length
        self._timeout = timeout
        self._queue = FairQueue[Wanted, None](lambda want, _: sessions.unreserve(*want))
        sessions.on_free = self._advance

    def __len__(self) -> int:
        return len(self._queue)

    async def reserve(self, owner: str, reservation: bytes = b"", group: str = "") -> None:
        """Reserves a slot (see `Sessions.reserve`), waiting for one if the queue has room.

        Args:
            owner: Name of the client.
            reservation: Id of slots that may be reserved for it.
            group: Group of the environment.

        Raises:
            FaultError: CLIENT_LIMIT_REACHED; CAPACITY_REACHED: the queue is full, or the time is up.
        """
        self._sessions.check_share(
            owner, sum(waiter.request.owner == owner for waiter in self._queue)
        )
        if self._sessions.reservations.has(reservation) or not self._must_wait(group):
            self._sessions.reserve(owner, reservation, group)
        elif len(self._queue) < self._length:
            await self._queue.wait(Wanted(owner, group), self._timeout, self._too_late, owner)
        else:
            waiting = f"; {len(self._queue)} wait already" * bool(self._length)
            raise self._sessions.no_slot(waiting, group)

    def _must_wait(self, group: str) -> bool:
        """Whether a group has no slot for a new Make. Makes that wait only for another group do not matter."""
        waited_for = any(waiter.request.group == group for waiter in self._queue)
        return waited_for or self._sessions.full or self._sessions.group_slots.full(group)

    def _too_late(self, want: Wanted) -> FaultError:
        waited = f", and none was freed within {self._timeout:g} s"
        return self._sessions.no_slot(waited, want.group)

    def _advance(self) -> None:
        """Gives free slots to the waiting Makes, a client at a time."""
        for waiter in self._queue:
            if self._sessions.full:
                return
            if self._sessions.group_slots.full(waiter.request.group):
                continue
            try:
                self._sessions.reserve(waiter.request.owner, group=waiter.request.group)
            except FaultError as fault:
                waiter.future.set_exception(fault)
            else:
                waiter.future.set_result(None)

    def reject_all(self, fault: FaultError) -> None:
        """Fails all waiting Makes with an error."""
        for waiter in self._queue:
            waiter.future.set_exception(copy.copy(fault))
