"""Slots of a server: those held for a few seconds for the Makes of an allocation, and those that groups take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from envwire.codec import FaultError, Reason

#: Longest reservation, so that a gateway that died between reserving and committing does not block slots for long.
MAX_SECONDS = 60.0
#: Most reservations of one server at once.
_MAX_RESERVATIONS = 100_000
#: How long released reservations are remembered, in seconds: longer than any ticket of their Makes is valid.
LAPSED_SECONDS = 120.0


@dataclass
class _Reservation:
    """Slots held until a time, and the client whose quota they count against."""

    slots: int
    until: float
    principal: str


class Reservations:
    """The reservations of one server, by name.

    Args:
        clock: Monotonic time, in seconds.

    Attributes:
        slots: Total number of reserved slots.
        holders: Number of reserved slots by the client that they count for.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[bytes, _Reservation] = {}
        #: Reservations for a client that expired unused or had no slots, and until when they are remembered.
        self._lapsed: dict[bytes, float] = {}
        self.slots = 0
        self.holders: Counter[str] = Counter()

    def reserve(
        self, name: bytes, count: int, seconds: float, free: int, principal: str = ""
    ) -> bool:
        """Reserves slots; returns False if too few are free or the name is in use.

        Args:
            name: Id of the reservation.
            count: Number of slots. With 0 and a client, Makes that name it get no slot, since it would not count.
            seconds: How long to hold them.
            free: Number of the server's free slots.
            principal: The client that they count for; empty for none.
        """
        if principal and not count and len(self._lapsed) < _MAX_RESERVATIONS:
            self._lapse(name)
            return True
        if not 0 < count <= free or name in self._kept or len(self._kept) >= _MAX_RESERVATIONS:
            return False
        self._lapsed.pop(name, None)
        self._kept[name] = _Reservation(count, self._until(seconds), principal)
        self._count(principal, count)
        return True

    def extend(self, name: bytes, seconds: float) -> None:
        """Extends a reservation to the given number of seconds from now."""
        if kept := self._kept.get(name):
            kept.until = self._until(seconds)

    def release(self, name: bytes) -> bool:
        """Releases the slots of a reservation; returns whether there were any."""
        kept = self._kept.pop(name, None)
        if kept is not None:
            self._count(kept.principal, -kept.slots)
        return kept is not None

    def has(self, name: bytes) -> bool:
        """Returns whether a reservation has slots left."""
        return name in self._kept

    def take(self, name: bytes) -> bool:
        """Takes one slot of a reservation; returns whether there was one."""
        kept = self._kept.get(name)
        if kept is None:
            return False
        kept.slots -= 1
        self._count(kept.principal, -1)
        if not kept.slots:
            del self._kept[name]
        return True

    def check_lapsed(self, name: bytes) -> None:
        """Refuses a Make whose reservation for a client has lapsed, since another slot would not count for it.

        Raises:
            FaultError: CAPACITY_REACHED.
        """
        if name in self._lapsed:
            raise FaultError(
                Reason.CAPACITY_REACHED,
                "the slot that was kept for this Make was not used in time and is given back; ask the gateway for "
                "another one, or make the environment through it",
                retry_after=1.0,
            )

    def sweep(self) -> bool:
        """Releases expired reservations; returns whether there were any."""
        now = self._clock()
        while self._lapsed and next(iter(self._lapsed.values())) <= now:
            del self._lapsed[next(iter(self._lapsed))]
        over = [name for name, kept in self._kept.items() if kept.until <= now]
        for name in over:
            if self.principal(name):
                self._lapse(name)
            self.release(name)
        return bool(over)

    def principal(self, name: bytes) -> str:
        """Returns the client that the slots of a reservation count for; empty for none."""
        kept = self._kept.get(name)
        return kept.principal if kept else ""

    def _lapse(self, name: bytes) -> None:
        self._lapsed.pop(name, None)
        self._lapsed[name] = self._clock() + LAPSED_SECONDS

    def _count(self, principal: str, slots: int) -> None:
        self.slots += slots
        if principal:
            self.holders[principal] += slots
            if not self.holders[principal]:
                del self.holders[principal]

    def _until(self, seconds: float) -> float:
        return self._clock() + min(seconds, MAX_SECONDS)
