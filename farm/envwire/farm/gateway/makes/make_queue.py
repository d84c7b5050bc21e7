"""Queue of Makes that wait for capacity in the farm, bounded in length, in bytes and in waiting time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.groups.groups import Groups
from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.server._front.makes.fair_queue import FairQueue
from envwire.server._grammar import counted
from envwire.server._ipc.refusals import unknown_environment

#: How long a Make waits for servers to register, in seconds: after a gateway's start, or while all servers that offer
#: the environment are silent. Servers register again within a second.
SETTLE_SECONDS = 2.5
#: Longest wait of a Make without a queue for Makes in progress, when the farm seems full. Those that a server has
#: reported count twice until they are answered: a vector of as many sessions as there were slots was refused.
_UNDECIDED_SECONDS = 30.0
#: Longest search for a server, in seconds, if the client set no deadline: one that reports room and refuses every Make
#: is asked again after each report.
_LONGEST_SECONDS = 600.0
#: How many Makes may wait for Makes in progress, or for servers to register.
_SETTLING = 4096


class _Request(NamedTuple):
    """A Make that waits for a slot.

    Attributes:
        requirements: What it needs of a server.
        refused: The servers that refused it, with the time of their last report before that.
    """

    requirements: Requirements
    refused: Mapping[Member, float]

    def excluded(self) -> frozenset[Member]:
        """Returns the servers that have not reported since they refused it: they may have room again after that."""
        return frozenset(each for each, at in self.refused.items() if each.reported_at <= at)


class MakeQueue:
    """Claims slots on servers; a Make that finds none waits until one is free.

    Args:
        registry: The servers.
        clock: Monotonic time, in seconds.
        length: How many Makes may wait for a slot; 0 for none.
        timeout: Longest wait for a slot, in seconds.
        groups: The groups of the farm, whose Makes wait for a server that starts.
    """

    def __init__(
        self,
        registry: Registry,
        clock: Callable[[], float],
        length: int,
        timeout: float,
        groups: Groups | None = None,
    ) -> None:
        self._registry = registry
        self._groups = groups or Groups({}, registry)
        self._clock = clock
        self._length = length
        self._timeout = timeout
        self._settled = clock() + SETTLE_SECONDS
        self._queue = FairQueue[_Request, Member](
            lambda _, member: registry.settle(member, made=False)
        )
        registry.on_room = self._groups.on_change = self._advance

    def __len__(self) -> int:
        return len(self._queue)

    async def settled(self) -> None:
        """Waits until servers had the time to register with a new gateway, and to say what clients hold there."""
        await asyncio.sleep(max(self._settled - self._clock(), 0.0))

    def latest(self, deadline: float) -> float:
        """Returns when the search for a server ends that begins now."""
        return min(deadline, self._clock() + _LONGEST_SECONDS)

    async def claim(
        self,
        requirements: Requirements,
        refused: Mapping[Member, float] | None = None,
        client: str = "",
        deadline: float = math.inf,
        size: int = 0,
    ) -> Member:
        """Claims a slot (see `Registry.claim`), waiting for one if necessary.

        Args:
            requirements: What the Make needs of a server.
            refused: The servers that refused it, with the time of their last report before that. They are asked again
                only while it waits, after a report.
            client: Name of its client. Clients take turns.
            deadline: When it must be told why there is no slot, since it stops waiting soon after.
            size: Bytes of the Make, which are kept while it waits.

        Raises:
            FaultError: UNKNOWN_ENVIRONMENT; CAPACITY_REACHED: no slot is free, or none became free in time.
        """
        now, request = self._clock(), _Request(requirements, refused or {})
        member = self._registry.claim(requirements, now, request.refused)
        if member is not None:
            return member
        most, seconds = self._limits(requirements, now)
        if seconds <= 0 or not self._queue.has_room(most, client, size):
            raise self._refusal(requirements)
        with self._groups.waiting(requirements):
            return await self._queue.wait(
                request,
                max(min(seconds, deadline - now), 0.0),
                lambda request: self._refusal(request.requirements),
                client,
                size,
            )

    def _limits(self, requirements: Requirements, now: float) -> tuple[int, float]:
        """Returns how many Makes may wait, and for how many seconds."""
        if group := self._groups.serving(requirements):
            return self._length or _SETTLING, group.wait(now)
        if self._registry.serving(requirements, now):
            if self._length:
                return self._length, self._timeout
            return _SETTLING, _UNDECIDED_SECONDS if self._registry.is_making(requirements) else 0.0
        if any(requirements.matches(each) and not each.dead for each in self._registry):
            return _SETTLING, SETTLE_SECONDS
        if self._length and not self._registry.is_served:  # the first server may be on its way
            return self._length, self._timeout
        return _SETTLING, self._settled - now

    def _advance(self) -> None:
        """Gives free slots to the waiting Makes, in turns of clients; refuses those with nothing left to wait for."""
        now, in_vain = self._clock(), dict[tuple[str, str, frozenset[Member]], bool]()
        for waiter in self._queue:
            requirements, exclude = waiter.request.requirements, waiter.request.excluded()
            kind = requirements.env_id, requirements.library, exclude
            if kind not in in_vain:  # once a Make finds no slot, equal ones find none
                member = self._registry.claim(requirements, now, exclude)
                if member is not None:
                    waiter.future.set_result(member)
                    continue
                in_vain[kind] = self._limits(requirements, now)[1] <= 0
            if in_vain[kind]:
                waiter.future.set_exception(self._refusal(requirements))

    def _refusal(self, requirements: Requirements) -> FaultError:
        alive = [each for each in self._registry if not each.dead]
        matching = [each for each in alive if requirements.matches(each)]
        if group := self._groups.serving(requirements):
            why = f"no slot for {requirements.env_id}: {group.why(self._clock())}; try again later"
            return FaultError(Reason.CAPACITY_REACHED, why, retry_after=1.0)
        if (alive or self._groups) and not matching:
            served = {listed for each in alive for listed in each.served}
            served |= {(each.library, each.spec.id) for each in self._groups.listings()}
            return unknown_environment(requirements.env_id, served, requirements.library)
        slots = sum(each.capacity for each in matching)
        waits = (
            f". Here {counted(self._length, 'Make')} may wait, {self._timeout:g} s at most (--queue, --queue-timeout)"
            if self._length
            else ", or lets Makes wait with --queue"
        )
        text = (
            f"no room in the farm for {requirements.env_id}: none of the {counted(slots, 'slot')} on the "
            f"{counted(len(matching), 'server')} hosting it is free; try again later. The operator adds servers{waits}"
            if matching
            else "no server is registered with this gateway; start some with `envwire serve --join`"
        )
        return FaultError(Reason.CAPACITY_REACHED, text, retry_after=1.0)
