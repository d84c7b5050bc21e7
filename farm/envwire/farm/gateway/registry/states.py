"""The states of a server in a farm as a table: who gets Makes, and what Locate answers. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from envwire.farm.gateway.registry.farm_usage import Reported
from envwire.farm.v1 import farm_pb2 as pb
from envwire.v1 import environment_pb2

State = pb.ServerStatus.State
Liveness = pb.LocateResponse.Liveness

#: A server is silent after this many seconds without a report, and gets no Makes. Reports come every second.
SUSPECT_SECONDS = 2.0
#: A server is dead after this many seconds without a report if it does not answer a probe either.
DEAD_SECONDS = 4.0
#: The same if it did not answer a client's probes either, so that the reason is not the gateway or its network. With 20
#: processes waiting for 2 cores, the longest silence of a live server was 1.5 s, and its longest answer took 0.35 s.
AGREED_DEAD_SECONDS = 3.0
#: The same after its registration broke: a live server registers again within half a second. The end of a machine or
#: container breaks the registration; a stall or a cut network does not.
CUT_DEAD_SECONDS = 1.0


@dataclass(eq=False)
class Member:
    """A registered server, as described by its registration and its reports.

    Attributes:
        hello: Its registration.
        address: HOST:PORT at which it is reachable.
        reported_at: Time of its last report, in seconds.
        owner: Name of the client that registered it.
        target: The gRPC target that the gateway dials: the address, or the local end of its tunnel.
        relayed: Whether clients reach it only through the gateway.
        proven: Whether its address is known to be its own, by its certificate or by the token that it joined with.
            Other servers may name the address of anybody, so they get no tokens of clients.
        active: Number of sessions that it reported, and of those made through the gateway since.
        pending: Number of Makes that it has not answered yet.
        counted: Number of pending Makes that its last report includes, because they were sent before it arrived.
        held: Slots that Allocate took here, if the server keeps no reservations.
        reserved: Slots that the server reserves for allocations, of all gateways.
        clients: Slots that clients with tokens hold there, by name; None for a server that does not count them.
        totals: What its environments had done and taken at its last report of that.
        usage: What its clients had used at that report.
        draining: Whether it takes no more sessions.
        leaving: Whether its engine is about to stop it.
        connected: Whether its registration is open.
        cut_at: Time at which the registration broke.
        confirmed: Whether it reported since the gateway's last stall.
        unanswered: Whether it neither answered its last probe nor reported since that began.
        dead: Whether it was found dead. That is final; to come back it registers again.
        turn: Number of the last Make that it received; of equally busy servers, the one with the lowest is next.
        ids: Ids that it offers, of any library.
        served: The same as pairs (library, id).
        kind: Equal for servers that offer the same to a Make.
        size: Size of its registration, in bytes.
    """

    hello: pb.ServerHello
    address: str
    reported_at: float
    owner: str = ""
    target: str = ""
    relayed: bool = False
    proven: bool = False
    active: int = 0
    pending: int = 0
    counted: int = 0
    held: int = 0
    reserved: int = 0
    clients: dict[str, int] | None = None
    totals: pb.ServerTotals | None = None
    usage: Reported | None = None
    draining: bool = False
    leaving: bool = False
    connected: bool = True
    cut_at: float = 0.0
    confirmed: bool = True
    unanswered: bool = False
    dead: bool = False
    turn: int = 0
    ids: frozenset[str] = field(init=False)
    served: frozenset[tuple[str, str]] = field(init=False)
    kind: tuple[object, ...] = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        """Derives the lookup tables from the registration."""
        listed = self.hello.environments
        self.served = frozenset((each.library, each.spec.id) for each in listed)
        self.ids = frozenset(env_id for _, env_id in self.served)
        labels = frozenset(self.hello.labels.items())
        self.kind = self.served, labels, self.hello.fingerprint, self.relayed
        self.target = self.target or self.address
        self.capacity = self.hello.info.max_sessions
        self.incarnation = self.hello.info.incarnation
        self.size = self.hello.ByteSize()

    @property
    def client_address(self) -> str:
        """HOST:PORT at which clients go on; empty where they stay at the gateway."""
        return "" if self.relayed else self.address

    @property
    def load(self) -> int:
        """Number of taken slots, as far as the gateway knows."""
        return self.active + self.pending + self.held + self.reserved

    @property
    def has_room(self) -> bool:
        """Whether it accepts Makes, unless it is silent."""
        usable = (
            self.connected and self.confirmed and not (self.dead or self.draining or self.leaving)
        )
        return usable and self.load < self.capacity

    def remains(self) -> Member:
        """Returns what is remembered of a dead server, of which there may be thousands: not what it offered."""
        info = self.hello.info
        hello = pb.ServerHello(
            server_id=self.hello.server_id,
            fingerprint=self.hello.fingerprint,
            tunnelled=self.hello.tunnelled,
            pid=self.hello.pid,
            info=environment_pb2.GetServerInfoResponse(
                version=info.version, incarnation=info.incarnation, max_sessions=info.max_sessions
            ),
        )
        return replace(self, hello=hello, clients=None, usage=None)

    def answered(self, count: int) -> int:
        """Removes answered Makes from the pending ones; returns how many the last report did not include."""
        counted = min(self.counted, count)
        self.pending, self.counted = self.pending - count, self.counted - counted
        return count - counted

    def takes_makes(self, now: float) -> bool:
        """Returns whether its state is STATE_FREE, in a fifth of the time that `state` takes."""
        return self.has_room and now - self.reported_at <= SUSPECT_SECONDS

    def silence(self, now: float) -> float:
        """Returns the seconds since its last report."""
        return max(now - self.reported_at, 0.0)

    def is_silent(self, now: float) -> bool:
        """Returns whether its reports have stopped."""
        return not self.connected or self.silence(now) > SUSPECT_SECONDS

    def may_be_dead(self, now: float) -> bool:
        """Returns whether it has been silent long enough to be dead, if it does not answer a probe either.

        A broken registration is evidence only if the server has reported since the gateway's last stall, which may
        otherwise have broken it.
        """
        cut = not self.connected and self.confirmed and now - self.cut_at >= CUT_DEAD_SECONDS
        return cut or self.silence(now) >= DEAD_SECONDS

    def is_dead_to_client(self, now: float) -> bool:
        """Returns whether it is dead, now that a client got no answer from it either."""
        silent = self.confirmed and self.silence(now) >= AGREED_DEAD_SECONDS
        return silent and self.unanswered and not self.dead

    def state(self, now: float) -> State.ValueType:
        """Returns the first state of the table whose condition holds."""
        return next(state for state, holds in _STATES if holds(self, now))


#: The conditions, in order of precedence.
_STATES: tuple[tuple[State.ValueType, Callable[[Member, float], bool]], ...] = (
    (State.STATE_DEAD, lambda each, _: each.dead),
    (State.STATE_UNKNOWN, lambda each, _: not each.confirmed),
    (State.STATE_SUSPECT, lambda each, now: each.is_silent(now)),
    (State.STATE_DRAINING, lambda each, _: each.draining or each.leaving),
    (State.STATE_BUSY, lambda each, _: each.load >= each.capacity),
    (State.STATE_FREE, lambda _, __: True),
)

#: The answer of Locate for a session, by the state of its server.
LIVENESS: dict[State.ValueType, Liveness.ValueType] = {
    State.STATE_FREE: Liveness.LIVENESS_ALIVE,
    State.STATE_BUSY: Liveness.LIVENESS_ALIVE,
    State.STATE_DRAINING: Liveness.LIVENESS_ALIVE,
    State.STATE_SUSPECT: Liveness.LIVENESS_SUSPECT,
    State.STATE_DEAD: Liveness.LIVENESS_DEAD,
    State.STATE_UNKNOWN: Liveness.LIVENESS_UNKNOWN,
}
