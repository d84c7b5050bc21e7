"""Allocates slots on several servers, all or nothing.

The servers reserve the slots. An allocation asks all of them at once; when one refuses because another gateway was
first, the allocation releases the rest and tries again after a random time. It holds nothing while it waits, so two
allocations cannot deadlock, and the random times let one of them go first.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.groups.groups import Groups
from envwire.farm.gateway.orders.outbox import UnansweredError
from envwire.farm.gateway.orders.registrations import Registrations
from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.quotas import Claim
from envwire.farm.gateway.registry.registry import HELD_SECONDS, Registry
from envwire.farm.gateway.registry.states import Member

_log = logging.getLogger("envwire.farm")

#: Longest time between reserving and committing, in seconds: a killed gateway blocks slots for no longer.
_RESERVED_SECONDS = 2.0
#: How many allocations may wait for servers of groups, where none may wait for others.
_FOR_GROUPS = 4096
#: Attempts of an allocation that may not wait, since it may lose a race with others by chance.
_TRIES = 8
#: Bounds of the random pause before the next attempt, in seconds; it doubles each time. Reserving takes milliseconds.
_FIRST_PAUSE, _MAX_PAUSE = 0.01, 0.25


@dataclass(frozen=True)
class Share:
    """Slots on one server.

    Attributes:
        member: The server.
        slots: Number of slots.
        name: Id of the reservation; empty for a server that keeps no reservations.
    """

    member: Member
    slots: int
    name: bytes


class Allocator:
    """Allocates slots on the servers that a gateway knows.

    Args:
        registry: The servers.
        registrations: Their open registrations, which carry the orders.
        clock: Monotonic time, in seconds.
        waiting: How many allocations may wait at once; 0 for none.
        timeout: Longest wait, in seconds.
        groups: The groups of the farm, which get servers for the slots that allocations wait for.

    Attributes:
        allocated: Number of slots allocated since the start.
        refused: Number of allocations refused since the start.
    """

    def __init__(
        self,
        registry: Registry,
        registrations: Registrations,
        clock: Callable[[], float],
        waiting: int,
        timeout: float,
        groups: Groups | None = None,
    ) -> None:
        self._registry = registry
        self._registrations = registrations
        self._clock = clock
        self._most = waiting
        self._timeout = timeout
        self._groups = groups or Groups({}, registry)
        self._waiting = 0
        self.allocated = self.refused = 0

    async def allocate(
        self, requirements: Requirements, count: int, wait: float, claim: Claim | None = None
    ) -> list[Share]:
        """Sets slots aside for `HELD_SECONDS`.

        Args:
            requirements: Requirements of each Make.
            count: Number of slots.
            wait: How long to wait for them, in seconds.
            claim: The client's claim on its quota; None for a client without a quota.

        Raises:
            FaultError: CAPACITY_REACHED: too few slots are free, or none became free in time.
        """
        shares = await self._try(requirements, count, _TRIES, claim)
        most, timeout = self._limits(requirements)
        if shares is None and wait > 0 and self._waiting < most:
            self._waiting += 1
            try:
                with self._groups.waiting(requirements, count):
                    shares = await self._wait(
                        requirements, count, self._clock() + min(wait, timeout), claim
                    )
            finally:
                self._waiting -= 1
        if shares is None:
            self.refused += 1
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"the farm has not {count} free slots for {requirements.env_id} with these labels; ask for fewer, or "
                "try again later",
                retry_after=1.0,
            )
        self.allocated += count
        return shares

    def _limits(self, requirements: Requirements) -> tuple[int, float]:
        """Returns how many allocations may wait, and for how many seconds."""
        if group := self._groups.serving(requirements):
            return self._most or _FOR_GROUPS, group.wait(self._clock())
        return self._most, self._timeout

    async def _wait(
        self, requirements: Requirements, count: int, deadline: float, claim: Claim | None
    ) -> list[Share] | None:
        while self._clock() < deadline:
            await asyncio.sleep(random.uniform(0.0, _MAX_PAUSE))  # noqa: S311
            if shares := await self._try(requirements, count, 1, claim):
                return shares
        return None

    async def _try(
        self, requirements: Requirements, count: int, tries: int, claim: Claim | None
    ) -> list[Share] | None:
        pause, unanswering = _FIRST_PAUSE, set[Member]()
        for left in reversed(range(tries)):
            divided = self._registry.divide(requirements, count, self._clock(), unanswering)
            if divided is None and not self._registry.is_undecided(requirements):
                return None
            if divided and (shares := await self._reserve(divided, unanswering, claim)):
                return shares
            if left:
                await asyncio.sleep(random.uniform(0.0, pause))  # noqa: S311
                pause = min(2 * pause, _MAX_PAUSE)
        return None

    async def _reserve(
        self, divided: dict[Member, int], unanswering: set[Member], claim: Claim | None
    ) -> list[Share] | None:
        """Reserves slots at all servers; when one refuses, releases what the others granted and returns None.

        Args:
            divided: Number of slots per server.
            unanswering: Servers that did not answer earlier; those that do not answer now are added.
            claim: The client's claim on its quota.
        """
        shares = [
            Share(
                member,
                count,
                secrets.token_bytes(16) if self._registrations.for_slots(member) else b"",
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
                self._tell(share, kept=kept)  # a late answer may have reserved slots
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
        registration = self._registrations.for_slots(share.member)
        if registration is None:
            return
        if kept:
            registration.commit(share.name, HELD_SECONDS)
        else:
            registration.release(share.name)
