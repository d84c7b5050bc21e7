"""The states of a server in a farm, as a table: which take Makes, and what Locate answers. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from envwire.farm.v1 import farm_pb2 as pb

State = pb.ServerStatus.State
Liveness = pb.LocateResponse.Liveness

#: A server is silent after this time without a report, and gets no Makes. Reports come every second.
SUSPECT_SECONDS = 2.0
#: A server is dead after this time without a report if it answers no probe either.
DEAD_SECONDS = 4.0
#: The same after its registration broke: one that lives registers again within half a second. Machines and containers
#: that end break it; those that stand still, or whose network is cut, do not.
CUT_DEAD_SECONDS = 1.0


@dataclass(eq=False)
class Member:
    """A registered server, as its registration and its reports describe it.

    Attributes:
        hello: Its registration.
        address: HOST:PORT at which it is reached.
        reported_at: Time of its last report, in seconds.
        owner: Name of the client that registered it.
        target: Where the gateway dials it, as gRPC names it: the address, or the end of its tunnel.
        relayed: Whether clients reach it through the gateway only.
        active: Sessions that it reported, and those made through the gateway since.
        pending: Makes that it has not answered yet.
        counted: Those of them that its last report counts: they were sent before it came.
        held: Slots that Allocate set aside, where the server keeps none.
        reserved: Slots that the server keeps for allocations, of all gateways.
        clients: Slots that clients with tokens hold there, by name; None for a server that does not count them.
        draining: Whether it takes no more sessions.
        connected: Whether its registration is open.
        cut_at: Time at which it broke.
        confirmed: Whether it reported since the gateway's last stall.
        dead: Whether it was found dead. That is final; to come back it registers again.
        turn: Number of the last Make that went to it: of equally busy servers, the one with the lowest is next.
        ids: Ids that it makes, whatever the library.
        served: The same as (library, id).
        kind: Equal for servers that differ in nothing that a Make asks for.
    """

    hello: pb.ServerHello
    address: str
    reported_at: float
    owner: str = ""
    target: str = ""
    relayed: bool = False
    active: int = 0
    pending: int = 0
    counted: int = 0
    held: int = 0
    reserved: int = 0
    clients: dict[str, int] | None = None
    draining: bool = False
    connected: bool = True
    cut_at: float = 0.0
    confirmed: bool = True
    dead: bool = False
    turn: int = 0
    ids: frozenset[str] = field(init=False)
    served: frozenset[tuple[str, str]] = field(init=False)
    kind: tuple[object, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Collects what the server makes."""
        listed = self.hello.environments
        self.served = frozenset((each.library, each.spec.id) for each in listed)
        self.ids = frozenset(env_id for _, env_id in self.served)
        labels = frozenset(self.hello.labels.items())
        self.kind = self.served, labels, self.hello.fingerprint, self.relayed
        self.target = self.target or self.address
        self.capacity = self.hello.info.max_sessions
        self.incarnation = self.hello.info.incarnation

    @property
    def client_address(self) -> str:
        """HOST:PORT at which clients go on; empty where they stay at the gateway."""
        return "" if self.relayed else self.address

    @property
    def load(self) -> int:
        """Slots that are taken, as far as the gateway knows."""
        return self.active + self.pending + self.held + self.reserved

    @property
    def has_room(self) -> bool:
        """Whether it takes Makes, unless it is silent."""
        usable = self.connected and self.confirmed and not (self.dead or self.draining)
        return usable and self.load < self.capacity

    def answered(self, count: int) -> int:
        """Takes Makes off the pending ones; returns how many of them the last report does not count."""
        counted = min(self.counted, count)
        self.pending, self.counted = self.pending - count, self.counted - counted
        return count - counted

    def takes_makes(self, now: float) -> bool:
        """Returns whether its state is STATE_FREE, in a fifth of the time."""
        return self.has_room and now - self.reported_at <= SUSPECT_SECONDS

    def silence(self, now: float) -> float:
        """Returns the seconds since its last report."""
        return max(now - self.reported_at, 0.0)

    def is_silent(self, now: float) -> bool:
        """Returns whether its reports have stopped."""
        return not self.connected or self.silence(now) > SUSPECT_SECONDS

    def may_be_dead(self, now: float) -> bool:
        """Returns whether its silence is long enough for it to be dead, if it answers no probe either.

        A registration that broke before the gateway's last stall says nothing: the stall may have broken it.
        """
        cut = not self.connected and self.confirmed and now - self.cut_at >= CUT_DEAD_SECONDS
        return cut or self.silence(now) >= DEAD_SECONDS

    def state(self, now: float) -> State.ValueType:
        """Returns the first state of the table whose condition holds."""
        return next(state for state, holds in _STATES if holds(self, now))


#: The conditions, in order of precedence.
_STATES: tuple[tuple[State.ValueType, Callable[[Member, float], bool]], ...] = (
    (State.STATE_DEAD, lambda each, _: each.dead),
    (State.STATE_UNKNOWN, lambda each, _: not each.confirmed),
    (State.STATE_SUSPECT, lambda each, now: each.is_silent(now)),
    (State.STATE_DRAINING, lambda each, _: each.draining),
    (State.STATE_BUSY, lambda each, _: each.load >= each.capacity),
    (State.STATE_FREE, lambda _, __: True),
)

#: What Locate answers for a session of a server in each state.
LIVENESS: dict[State.ValueType, Liveness.ValueType] = {
    State.STATE_FREE: Liveness.LIVENESS_ALIVE,
    State.STATE_BUSY: Liveness.LIVENESS_ALIVE,
    State.STATE_DRAINING: Liveness.LIVENESS_ALIVE,
    State.STATE_SUSPECT: Liveness.LIVENESS_SUSPECT,
    State.STATE_DEAD: Liveness.LIVENESS_DEAD,
    State.STATE_UNKNOWN: Liveness.LIVENESS_UNKNOWN,
}
