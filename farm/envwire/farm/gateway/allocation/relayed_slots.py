"""Slots allocated on servers behind the gateway: which server a Make that names them goes to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.allocation.allocating import Share
from envwire.farm.gateway.registry.registry import HELD_SECONDS


@dataclass
class _Kept:
    """Slots of a reservation that no Make has named yet, the client they are for, and until when they are kept."""

    run: str
    principal: str
    left: int
    until: float


class RelayedSlots:
    """The reservations of one gateway's clients on such servers; servers keep the slots themselves.

    Args:
        clock: Monotonic time, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    def keep(self, share: Share, principal: str) -> None:
        """Records slots that were reserved for a client."""
        now = self._clock()
        while self._kept and next(iter(self._kept.values())).until <= now:
            self._kept.popitem(last=False)
        self._kept[share.name] = _Kept(
            share.member.incarnation, principal, share.slots, now + HELD_SECONDS
        )

    def take(self, name: bytes, principal: str) -> str:
        """Takes one slot for a Make that names its reservation; returns the incarnation of the server.

        Raises:
            FaultError: CAPACITY_REACHED: the client has no such slot, or did not use it in time.
        """
        kept = self._kept.get(name)
        if not kept or kept.principal != principal or not kept.left or kept.until <= self._clock():
            raise FaultError(
                Reason.CAPACITY_REACHED,
                "no slot behind this gateway is kept under this reservation: each is for one Make of its own client, "
                f"within {HELD_SECONDS:g} s; allocate again, and make at the allocation's address if it has one",
                retry_after=1.0,
            )
        kept.left -= 1
        return kept.run
