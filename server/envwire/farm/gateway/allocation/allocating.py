"""Allocates slots of several servers: all of them, or none.

The servers keep the slots. An allocation reserves its share at each of them at once; when one refuses, since another
gateway was first, it gives the others back and tries again after a random time. It holds nothing while it waits, so
two allocations cannot wait for each other, and the random times let one of them be first.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.orders.outbox import UnansweredError
from envwire.farm.gateway.orders.registrations import Registrations
from envwire.farm.gateway.registry.placement import Want
from envwire.farm.gateway.registry.quotas import Claim
from envwire.farm.gateway.registry.registry import HELD_SECONDS, Registry
from envwire.farm.gateway.registry.states import Member

_log = logging.getLogger("envwire.farm")

#: Between reserving and committing; a gateway that is killed leaves no slots blocked for longer.
_RESERVED_SECONDS = 2.0
#: Tries of an allocation that may not wait: others may have been first by chance.
_TRIES = 8
#: Random pause before the next try: doubled each time. Reserving takes some milliseconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.25


@dataclass(frozen=True)
class Share:
    """Slots on one server.

    Attributes:
        member: The server.
        slots: How many.
        name: Names the reservation; empty where the server keeps none.
    """

    member: Member
    slots: int
    name: bytes


class Allocator:
    """Allocates slots of the servers that a gateway knows.

    Args:
        registry: The servers.
        registrations: What reaches those that keep slots.
        clock: Monotonic time, in seconds.
        waiting: How many allocations may wait at once; 0 for none.
        timeout: Longest wait, in seconds.

    Attributes:
        allocated: Slots that were allocated since the start.
        refused: Allocations that were refused.
    """

    def __init__(
        self,
        registry: Registry,
        registrations: Registrations,
        clock: Callable[[], float],
        waiting: int,
        timeout: float,
    ) -> None:
        self._registry = registry
        self._registrations = registrations
        self._clock = clock
        self._most = waiting
        self._timeout = timeout
        self._waiting = 0
        self.allocated = self.refused = 0

    async def allocate(
        self, want: Want, count: int, wait: float, claim: Claim | None = None
    ) -> list[Share]:
        """Sets slots aside for `HELD_SECONDS`.

        Args:
            want: What each Make wants.
            count: How many.
            wait: How long to wait for so many.
            claim: What they count for; None where nobody counts.

        Raises:
            FaultError: CAPACITY_REACHED: there are not so many, or not in time.
        """
        shares = await self._try(want, count, _TRIES, claim)
        if shares is None and wait > 0 and self._waiting < self._most:
            self._waiting += 1
            try:
                shares = await self._wait(
                    want, count, self._clock() + min(wait, self._timeout), claim
                )
            finally:
                self._waiting -= 1
        if shares is None:
            self.refused += 1
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"the farm has not {count} free slots for {want.env_id} with these labels; ask for fewer, or try again "
                "later",
                retry_after=1.0,
            )
        self.allocated += count
        return shares

    async def _wait(
        self, want: Want, count: int, deadline: float, claim: Claim | None
    ) -> list[Share] | None:
        while self._clock() < deadline:
            await asyncio.sleep(random.uniform(0.0, _LONGEST_PAUSE))  # noqa: S311
            if shares := await self._try(want, count, 1, claim):
                return shares
        return None

    async def _try(
        self, want: Want, count: int, tries: int, claim: Claim | None
    ) -> list[Share] | None:
        pause, unanswering = _FIRST_PAUSE, set[Member]()
        for left in reversed(range(tries)):
            divided = self._registry.divide(want, count, self._clock(), unanswering)
            if divided is None and not self._registry.is_undecided(want):
                return None
            if divided and (shares := await self._reserve(divided, unanswering, claim)):
                return shares
            if left:
                await asyncio.sleep(random.uniform(0.0, pause))  # noqa: S311
                pause = min(2 * pause, _LONGEST_PAUSE)
        return None

    async def _reserve(
        self, divided: dict[Member, int], unanswering: set[Member], claim: Claim | None
    ) -> list[Share] | None:
        """Reserves at all servers; when one refuses, gives back what the others granted and returns None.

        Args:
            divided: How many slots at which server.
            unanswering: Servers that keep no slots for it; those that do not now are added.
            claim: What the slots count for.
        """
        shares = [
            Share(
                member,
                count,
                secrets.token_bytes(16) if self._registrations.slots_of(member) else b"",
            )
            for member, count in divided.items()
        ]
        asked = [share for share in shares if share.name or claim]
        granted = [False] * len(asked)
        kept = False
        try:
            granted = await asyncio.gather(
                *(self._ask(share, unanswering, claim) for share in asked)
            )
            kept = all(granted)
        finally:
            self._registry.settle_shares(divided, kept=kept, now=self._clock())
            for share, was_granted in zip(asked, granted, strict=True):
                self._tell(share, kept=kept)  # one that answers late keeps slots as well
                if claim and was_granted and not kept:
                    claim.given_back(share.member, share.slots)
        return shares if kept else None

    async def _ask(self, share: Share, unanswering: set[Member], claim: Claim | None) -> bool:
        try:
            granted = await self._registrations.reserve(
                share.member, share.name, share.slots, _RESERVED_SECONDS, claim
            )
        except UnansweredError as error:
            _log.info("%s keeps no slots: %s", share.member.address, error)
            unanswering.add(share.member)
            return False
        return granted

    def _tell(self, share: Share, *, kept: bool) -> None:
        keeper = self._registrations.slots_of(share.member)
        if keeper is None:
            return
        if kept:
            keeper.commit(share.name, HELD_SECONDS)
        else:
            keeper.release(share.name)
