"""Quotas: limits on the slots of a farm that one client holds. No I/O.

Servers count the slots of each client: its sessions, and the slots reserved for it. A gateway adds what it has asked
servers to reserve since their last reports, so a single gateway never exceeds a quota. With several gateways, each
learns of the others' slots from the servers' next reports, a tenth of a second later. A new gateway knows nothing:
Makes and allocations of clients with a quota wait until servers had the time to register (`MakeQueue.settled`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.registry.states import Member
from envwire.server._auth.client import TOKEN_PREFIX, Client


class Claim:
    """Slots that a client with a quota is about to get.

    Args:
        pending: Number of slots that each client is about to get, by the client's name.
        principal: Name of the client.
        count: Number of slots.

    Attributes:
        principal: Name of the client.
    """

    def __init__(self, pending: Counter[str], principal: str, count: int) -> None:
        self._pending = pending
        self.principal = principal
        self._left = 0
        self._add(count)

    def granted(self, member: Member, count: int) -> None:
        """Records that a server reserved some of them, which it counts from now on."""
        self._add(-count)
        self._count(member, count)

    def given_back(self, member: Member, count: int) -> None:
        """Records that a server released some of them, which are to be claimed elsewhere."""
        self._count(member, -count)
        self._add(count)

    def end(self) -> None:
        """Drops what is left of the claim: the client gets no more slots."""
        self._add(-self._left)

    def _add(self, count: int) -> None:
        self._left += count
        self._pending[self.principal] += count
        if not self._pending[self.principal]:
            del self._pending[self.principal]

    def _count(self, member: Member, count: int) -> None:
        if member.clients is not None:
            member.clients[self.principal] = member.clients.get(self.principal, 0) + count


class Quotas:
    """The quotas of one gateway.

    Args:
        members: The current servers.
        default: Quota of clients whose token sets none; 0 for no limit.
    """

    def __init__(self, members: Iterable[Member], default: int) -> None:
        self._members = members
        self._default = default
        self._pending: Counter[str] = Counter()

    def held(self, principal: str) -> int:
        """Returns how many slots a client holds, or is about to get."""
        counted = (
            each.clients.get(principal, 0)
            for each in self._members
            if each.clients and not each.dead
        )
        return sum(counted) + self._pending[principal]

    def of(self, client: Client) -> int:
        """Returns how many slots a client may hold; 0 for no limit."""
        if not client.name.startswith(TOKEN_PREFIX):
            return 0
        return self._default if client.quota is None else client.quota

    @contextmanager
    def claim(self, client: Client, count: int) -> Generator[Claim | None]:
        """Claims slots for a client; yields None for a client without a quota.

        Raises:
            FaultError: CLIENT_LIMIT_REACHED: the client would hold more than its quota.
        """
        quota = self.of(client)
        if not quota:
            yield None
            return
        held = self.held(client.name)
        if count > max(quota - held, 0):
            raise _exceeded(client.name, quota, held, count)
        claim = Claim(self._pending, client.name, count)
        try:
            yield claim
        finally:
            claim.end()


def _exceeded(name: str, quota: int, held: int, count: int) -> FaultError:
    return FaultError(
        Reason.CLIENT_LIMIT_REACHED,
        f"{name} holds {held} of the {quota} sessions of the farm that it may have at once, and asks for {count} more; "
        "close some first. Ended ones, and those made through other gateways, count as servers report them, some "
        "tenths of a second late. The operator raises the number by quota= in the token file, or --quota",
        metadata={"quota": str(quota), "held": str(held)},
        retry_after=1.0,
    )
