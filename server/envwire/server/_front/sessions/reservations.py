"""Free slots that are kept for the Makes of an allocation, for a few seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from envwire.codec import FaultError, Reason

#: A gateway that died between reserving and committing must not block slots for long.
LONGEST_SECONDS = 60.0
#: Reservations of one server at once; each keeps at least one slot.
_MOST = 100_000
#: For how long slots that were given back are remembered: longer than the ticket of any Make that names them is good.
LAPSED_SECONDS = 120.0


@dataclass
class _Reservation:
    """Slots that are kept until a time, and the client that they count for."""

    slots: int
    until: float
    principal: str


class Reservations:
    """The reservations of one server, by name.

    Args:
        clock: Monotonic time, in seconds.

    Attributes:
        slots: How many slots are kept in all.
        holders: How many are kept for each client that they count for.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[bytes, _Reservation] = {}
        #: Those that counted for a client and were not used in time, or had no slots, and until when they are
        #: remembered.
        self._lapsed: dict[bytes, float] = {}
        self.slots = 0
        self.holders: Counter[str] = Counter()

    def reserve(
        self, name: bytes, count: int, seconds: float, free: int, principal: str = ""
    ) -> bool:
        """Keeps slots; returns False when fewer are free, or the name is taken.

        Args:
            name: Names the reservation.
            count: How many; with 0 for a client, Makes that name it get no slot: none would count.
            seconds: How long.
            free: How many slots of the server nobody has.
            principal: The client that they count for; empty for none.
        """
        if principal and not count and len(self._lapsed) < _MOST:
            self._lapse(name)
            return True
        if not 0 < count <= free or name in self._kept or len(self._kept) >= _MOST:
            return False
        self._lapsed.pop(name, None)
        self._kept[name] = _Reservation(count, self._until(seconds), principal)
        self._count(principal, count)
        return True

    def extend(self, name: bytes, seconds: float) -> None:
        """Keeps what is left of a reservation for so long from now on."""
        if kept := self._kept.get(name):
            kept.until = self._until(seconds)

    def release(self, name: bytes) -> bool:
        """Gives slots back; returns whether there were any."""
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
        """Refuses a Make whose slots counted for a client and were given back: another slot would not count.

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
        """Gives back the slots whose time is over; returns whether there were any."""
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
        return self._clock() + min(seconds, LONGEST_SECONDS)
