"""What a Make wants, and how several Makes are divided among servers: spread or packed. No I/O."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2 as pb

Strategy = pb.AllocateRequest.Strategy
_Order = Callable[[float], float]

#: How servers are ordered, by the part of their slots that is taken.
_ORDERS: dict[Strategy.ValueType, _Order] = {
    Strategy.STRATEGY_UNSPECIFIED: lambda taken: taken,
    Strategy.STRATEGY_SPREAD: lambda taken: taken,
    Strategy.STRATEGY_PACK: lambda taken: -taken,
}


@dataclass(frozen=True)
class Want:
    """The requirements of a Make or an Allocate.

    Attributes:
        env_id: Id of the environment.
        library: Library of the id; empty for any.
        labels: Labels that the server must have.
        fingerprint: Servers to prefer; empty for any.
        strategy: How servers are ordered.
    """

    env_id: str
    library: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    fingerprint: str = ""
    strategy: Strategy.ValueType = Strategy.STRATEGY_SPREAD

    def suits(self, member: Member) -> bool:
        """Returns whether a server makes the environment and has the labels."""
        served = (
            (self.library, self.env_id) in member.served
            if self.library
            else self.env_id in member.ids
        )
        return served and all(
            member.hello.labels.get(name) == value for name, value in self.labels.items()
        )

    def prefers(self, member: Member) -> bool:
        """Returns whether a server has the wanted fingerprint."""
        return self.fingerprint in {"", member.hello.fingerprint}

    def rank(self, member: Member, more: int = 0) -> tuple[bool, float, int]:
        """Returns what servers are ordered by, as if `more` of the server's slots were taken."""
        taken = _ORDERS[self.strategy]((member.load + more) / member.capacity)
        return not self.prefers(member), taken, member.turn


def divide(want: Want, count: int, members: Iterable[Member]) -> dict[Member, int] | None:
    """Divides several Makes among servers; None when they have too few free slots.

    Args:
        want: What each of them wants.
        count: How many.
        members: Servers that take Makes.
    """
    room = {each: each.capacity - each.load for each in members if want.suits(each)}
    if sum(free for free in room.values() if free > 0) < count:
        return None
    shares: dict[Member, int] = {}
    heap = [(want.rank(each), index, each) for index, each in enumerate(room) if room[each] > 0]
    heapq.heapify(heap)
    for _ in range(count):
        _, index, each = heap[0]
        shares[each] = shares.get(each, 0) + 1
        if shares[each] < room[each]:
            heapq.heapreplace(heap, (want.rank(each, shares[each]), index, each))
        else:
            heapq.heappop(heap)
    return shares
