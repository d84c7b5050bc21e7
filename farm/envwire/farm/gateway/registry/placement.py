"""The requirements of a Make, and the division of several Makes among servers: spread or packed. No I/O."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2 as pb

Strategy = pb.AllocateRequest.Strategy

#: Number of servers among which Makes are spread, unless each would get more than the given fraction of its slots:
#: taking one slot on each of a thousand servers took 20 ms of the gateway's CPU time.
_SERVERS, _PART = 100, 0.01


@dataclass(frozen=True)
class Requirements:
    """The requirements of a Make or an Allocate.

    Attributes:
        env_id: Id of the environment.
        library: Library of the id; empty for any.
        labels: Labels that the server must have.
        fingerprint: Servers to prefer; empty for any.
        strategy: Whether to take the least or the most busy servers first.
        direct: Whether clients send their Makes to the servers themselves.
    """

    env_id: str
    library: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    fingerprint: str = ""
    strategy: Strategy.ValueType = Strategy.STRATEGY_SPREAD
    direct: bool = False

    def matches(self, member: Member) -> bool:
        """Returns whether a server offers the environment, has the labels, and is reachable in the required way."""
        if self.direct and not member.client_address:
            return False
        served = (
            (self.library, self.env_id) in member.served
            if self.library
            else self.env_id in member.ids
        )
        return served and all(
            member.hello.labels.get(name) == value for name, value in self.labels.items()
        )

    def is_preferred(self, member: Member) -> bool:
        """Returns whether a server has the wanted fingerprint."""
        return self.fingerprint in {"", member.hello.fingerprint}

    @property
    def order(self) -> int:
        """Factor of the load by which servers are sorted: 1 to take the least busy ones first, -1 for the busiest."""
        return -1 if self.strategy == Strategy.STRATEGY_PACK else 1


def divide(
    requirements: Requirements, count: int, members: Iterable[Member]
) -> dict[Member, int] | None:
    """Divides several Makes among servers; None if they have too few free slots.

    Args:
        requirements: Requirements of each Make.
        count: Number of Makes.
        members: Servers that accept such Makes.
    """
    order, each_time = requirements.order, -(-count // _SERVERS)
    heap = [
        (
            not requirements.is_preferred(each),
            order * each.load / each.capacity,
            each.turn,
            index,
            each,
        )
        for index, each in enumerate(members)
    ]
    if sum(each.capacity - each.load for *_, each in heap) < count:
        return None
    heapq.heapify(heap)
    shares: dict[Member, int] = {}
    while count:
        other, _, turn, index, each = heap[0]
        before = shares.get(each, 0)
        free = each.capacity - each.load - before
        spread = max(1, min(each_time, int(_PART * each.capacity)))
        more = min(count, free, spread if order > 0 else free)
        share = shares[each] = before + more
        count -= more
        taken = each.load + share
        if taken < each.capacity:
            entry = other, order * taken / each.capacity, turn, index, each
            heapq.heapreplace(heap, entry)
        else:
            heapq.heappop(heap)
    return shares
