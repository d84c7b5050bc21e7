"""The registry of a farm's servers: their load and liveness. No I/O; callers pass the time.

A gateway that was stopped, or whose machine was suspended, received no reports meanwhile. That says nothing about the
servers, so the stall does not count as silence, and a server's state is unknown until it reports again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from envwire.farm.gateway.registry.farm_usage import FarmUsage
from envwire.farm.gateway.registry.placement import Requirements, divide
from envwire.farm.gateway.registry.pools import Pools
from envwire.farm.gateway.registry.states import LIVENESS, Liveness, Member, State
from envwire.farm.gateway.registry.succession import validate_registration
from envwire.farm.gateway.registry.totals import FarmTotals
from envwire.farm.v1 import farm_pb2 as pb

#: The registry is called several times a second. A longer pause between two calls, in seconds, means that the gateway
#: was stalled.
STALL_SECONDS = 1.0
#: Seconds for which slots from Allocate count as taken.
HELD_SECONDS = 5.0
#: Seconds for which a dead server is listed.
_LISTED_SECONDS = 600.0
#: Number of ended incarnations to remember.
_REMEMBERED = 10_000


class Registry:
    """The servers that a gateway knows.

    Args:
        now: Monotonic time, in seconds, as in all calls.
        relays: Whether clients reach all servers through the gateway only, not just those behind tunnels.

    Attributes:
        totals: What the servers' environments did since it was made.
        usage: What clients used since then.
        on_room: Called when a full server may have room again.
        on_dead: Called with each server that is found dead.
        on_cut: Called with each server whose registration broke, to probe it.
    """

    def __init__(self, now: float, *, relays: bool = False) -> None:
        self._relays = relays
        self._members: dict[str, Member] = {}
        self._by_run: dict[str, Member] = {}
        self._pools = Pools()
        self._over: OrderedDict[str, Member] = OrderedDict()
        self._holds: deque[tuple[float, Member, int]] = deque()
        self._now = now
        self._turn = 0
        self.totals = FarmTotals()
        self.usage = FarmUsage()
        self.on_room: Callable[[], None] = lambda: None
        self.on_dead: Callable[[Member], None] = lambda _: None
        self.on_cut: Callable[[Member], None] = lambda _: None

    def __iter__(self) -> Iterator[Member]:
        return iter(sorted(self._members.values(), key=lambda each: each.hello.server_id))

    @property
    def members(self) -> Iterable[Member]:
        """The current servers, in no particular order."""
        return self._members.values()

    @property
    def is_served(self) -> bool:
        """Whether there is any server that was not found dead."""
        return any(not each.dead for each in self._members.values())

    def register(
        self,
        hello: pb.ServerHello,
        address: str,
        now: float,
        owner: str = "",
        *,
        proven: bool = False,
    ) -> Member:
        """Registers a server. It replaces an earlier incarnation, or an earlier registration of the same one.

        Args:
            hello: The server's description of itself.
            address: HOST:PORT at which it is reachable.
            now: The time.
            owner: Name of the client that registers it.
            proven: Whether the address is known to be its own.

        Raises:
            DuplicateServerError: Its id or its incarnation belongs to another server.
        """
        self.advance(now)
        relayed = self._relays or hello.tunnelled
        before = self._members.get(hello.server_id)
        member = Member(hello, address, now, owner, relayed=relayed, proven=proven)
        if hello.keeps_slots:  # until the first report, which replaces it
            member.clients = {}
        run = member.incarnation
        validate_registration(member, before, self._by_run.get(run) or self._over.get(run), now)
        if before is not None and before.incarnation == run and not before.dead:
            self._pools.remove(before)
            member.active, member.pending, member.held = before.active, before.pending, before.held
            member.counted, member.reserved = before.counted, before.reserved
            member.clients, member.totals, member.usage = (
                before.clients,
                before.totals,
                before.usage,
            )
            self._holds = deque(
                (until, member if each is before else each, count)
                for until, each, count in self._holds
            )
        elif before is not None and not before.dead:
            self._end(before)
        self._members[hello.server_id] = self._by_run[run] = member
        self._pools.add(member)
        self._over.pop(run, None)
        self.on_room()
        return member

    def report(self, member: Member, load: pb.ServerLoad, now: float) -> None:
        """Records a server's load."""
        self.advance(now)
        member.reported_at, member.confirmed, member.unanswered = now, True, False
        member.active, member.draining = load.active_sessions, load.draining
        member.reserved, member.counted = load.reserved_slots, member.pending
        member.clients = dict(load.client_slots.slots) if load.HasField("client_slots") else None
        if load.HasField("totals"):
            self.totals.add(member.totals, load.totals)
            member.totals = load.totals
            member.usage = self.usage.add(member.usage, load.usage)
        self._pools.update(member)
        self.on_room()

    def leave(self, member: Member, now: float) -> None:
        """Records that a server announced its end, with which its sessions are over."""
        self.advance(now)
        if self._by_run.get(member.incarnation) is member:
            self._end(member)
            del self._members[member.hello.server_id]

    def disconnect(self, member: Member, now: float) -> None:
        """Records that a registration ended; the server is suspect until it registers again."""
        self.advance(now)
        member.connected, member.cut_at = False, now
        self._pools.update(member)
        if self._by_run.get(member.incarnation) is member:
            self.on_cut(member)

    def advance(self, now: float) -> None:
        """Advances the time: excludes a stall of the gateway itself, and frees allocated slots that expired unused."""
        stalled = now - self._now > STALL_SECONDS
        self._now = now
        if stalled:
            for member in self._members.values():
                member.reported_at, member.confirmed = now, False
                self._pools.update(member)
        freed = False
        while self._holds and self._holds[0][0] <= now:
            _, member, count = self._holds.popleft()
            member.held -= count
            self._pools.update(member)
            freed = True
        if freed:
            self.on_room()

    def sweep(self, now: float) -> list[Member]:
        """Removes servers that have been dead for a while; returns the silent servers to probe."""
        self.advance(now)
        for name, member in list(self._members.items()):
            if member.dead and member.silence(now) > _LISTED_SECONDS:
                del self._members[name]
        return [each for each in self._members.values() if not each.dead and each.is_silent(now)]

    def probed(self, member: Member, answered: bool, now: float) -> None:
        """Records the result of a probe. A server that answers is live, even if its reports do not arrive."""
        self.advance(now)
        member.unanswered = not answered
        if not answered and not member.dead and member.may_be_dead(now):
            self._end(member)

    def _end(self, member: Member) -> None:
        member.dead = True
        self._pools.remove(member)
        self._by_run.pop(member.incarnation, None)
        remains = self._over[member.incarnation] = member.remains()
        if self._members.get(member.hello.server_id) is member:
            self._members[member.hello.server_id] = remains
        while len(self._over) > _REMEMBERED:
            self._over.popitem(last=False)
        self.on_dead(member)

    def claim(
        self, requirements: Requirements, now: float, exclude: Collection[Member] = ()
    ) -> Member | None:
        """Claims a slot for a Make; None if no server has one. The caller reports the outcome with `settle`.

        Args:
            requirements: Requirements of the Make.
            now: The time.
            exclude: Servers that have refused it.
        """
        self.advance(now)
        member = self._pools.choose(requirements, lambda each: each.takes_makes(now), exclude)
        if member is not None:
            self.send_to(member)
        return member

    def send_to(self, member: Member) -> None:
        """Counts a Make that is sent to a given server, even if that is full."""
        self._turn += 1
        member.turn = self._turn
        member.pending += 1
        self._pools.update(member)

    def settle(self, member: Member, *, made: bool) -> None:
        """Records whether the Make of a `claim` or `send_to` made a session."""
        member = self._by_run.get(member.incarnation, member)
        uncounted = member.answered(1)
        member.active += uncounted if made else 0
        self._pools.update(member)
        if not made:
            self.on_room()

    def divide(
        self, requirements: Requirements, count: int, now: float, exclude: Collection[Member] = ()
    ) -> dict[Member, int] | None:
        """Divides several Makes among servers and counts them as pending; None if there are too few slots.

        The caller reports the outcome with `settle_shares`.

        Args:
            requirements: Requirements of each Make.
            count: Number of Makes.
            now: The time.
            exclude: Servers to exclude.
        """
        self.advance(now)
        shares = self._divide(requirements, count, now, exclude)
        for member, share in (shares or {}).items():
            member.pending += share
            self._pools.update(member)
        return shares

    def _divide(
        self, requirements: Requirements, count: int, now: float, exclude: Collection[Member]
    ) -> dict[Member, int] | None:
        if count == 1 and requirements.order == 1:
            member = self._pools.choose(requirements, lambda each: each.takes_makes(now), exclude)
            return None if member is None else {member: 1}
        taking = (
            each
            for each in self._pools.matching(requirements)
            if each.takes_makes(now) and each not in exclude
        )
        return divide(requirements, count, taking)

    def is_undecided(self, requirements: Requirements) -> bool:
        """Returns whether slots for a Make may become free at once, because pending requests for them may fail."""
        return any(
            each.reserved or each.pending
            for each in self._members.values()
            if requirements.matches(each)
        )

    def is_making(self, requirements: Requirements) -> bool:
        """Returns whether a server that could serve a Make has not answered another one yet."""
        return any(each.pending and requirements.matches(each) for each in self._members.values())

    def settle_shares(self, shares: Mapping[Member, int], *, kept: bool, now: float) -> None:
        """Records whether slots were reserved: by servers, or else by this gateway for `HELD_SECONDS`."""
        self.advance(now)
        for registered, share in shares.items():
            member = self._by_run.get(registered.incarnation, registered)
            member.answered(share)
            if kept and member.hello.keeps_slots:
                member.reserved += share  # until its next report
            elif kept:
                member.held += share
                self._holds.append((now + HELD_SECONDS, member, share))
            self._pools.update(member)
        if not kept:
            self.on_room()

    def serving(self, requirements: Requirements, now: float) -> list[Member]:
        """Returns the servers that could serve a Make if they had room."""
        self.advance(now)
        usual = {State.STATE_FREE, State.STATE_BUSY}
        return [
            each
            for each in self._members.values()
            if each.state(now) in usual and requirements.matches(each)
        ]

    def owner(self, session_id: str) -> Member | None:
        """Returns the server of a session; None if it is unknown or dead."""
        return self._by_run.get(_run_of(session_id))

    def locate(
        self, session_id: str, now: float, *, silent: bool = False
    ) -> tuple[Liveness.ValueType, str]:
        """Returns the state of a session's server, and the address where clients find it; empty if they cannot.

        Args:
            session_id: The session.
            now: The time.
            silent: Whether the server did not answer the client either.
        """
        self.advance(now)
        run = _run_of(session_id)
        member = self._by_run.get(run)
        if member is not None and silent and member.is_dead_to_client(now):
            self._end(member)
        elif member is not None:
            return LIVENESS[member.state(now)], member.client_address
        return (Liveness.LIVENESS_DEAD if run in self._over else Liveness.LIVENESS_UNKNOWN), ""


def _run_of(session_id: str) -> str:
    """Returns the incarnation of a session's server, with which the session's id ends."""
    return session_id.rpartition("-")[2]
