"""The table of a server's sessions: live ones, ended ones with their reasons, and limits per client."""

from __future__ import annotations

import copy
import hmac
import secrets
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from envwire.codec import FaultError, Reason
from envwire.server._auth.client import Client
from envwire.server._front.counters import Tally
from envwire.server._front.sessions.life import LifeEvent
from envwire.server._front.sessions.log import log_end, log_not_swept, log_unused
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.session_totals import MakeTimings, SessionTotals, SlotUsage
from envwire.server._front.sessions.slots import Reservations
from envwire.server._grammar import counted

#: Number of ended sessions to keep, of 1.4 kB each, so that their clients learn why they ended, and number of the
#: latest ones to keep with their last output, of up to 16 kB each.
_REMEMBERED, _WITH_OUTPUT = 4096, 256
#: Sweeps run ten times a second. A longer pause means that the process was stopped or starved of CPU.
_STALL_SECONDS = 1.0


@dataclass(frozen=True)
class EndedSession:
    """Record of an ended session: enough to tell its owner why it ended."""

    secret: bytes = field(repr=False)
    end_reason: FaultError


class Sessions:
    """The sessions of one server, by id.

    Args:
        capacity: How many may be live at once.
        clock: Monotonic time, in seconds.
        incarnation: Name of this run of the server.
        per_client: How many one client may have at once; 0 for no limit.

    Attributes:
        live: The sessions by their ids, without those that are not made yet.
        clock: Monotonic time, in seconds.
        incarnation: Name of this run of the server.
        capacity: How many may be live at once.
        tally: Counters of the server since its start.
        totals: Totals of ended sessions.
        usage: Who has used the slots.
        make_timings: Breakdown of the time of Makes.
        holders: Number of sessions by client, including those being made.
        reservations: Slots that are reserved for Makes which name them.
        draining: Whether the server takes no new sessions, since it is about to stop.
        on_free: Called when a slot becomes free.
        on_end: Called with each session that ended, and its end reason.
    """

    def __init__(
        self, capacity: int, clock: Callable[[], float], incarnation: str, per_client: int = 0
    ) -> None:
        self.capacity = capacity
        self.tally = Tally(clock)
        self.totals = SessionTotals()
        self.usage = SlotUsage()
        self.make_timings = MakeTimings()
        self.clock = clock
        self.incarnation = incarnation
        self._per_client = per_client
        self.live: dict[str, SessionRecord] = {}
        self._ended: OrderedDict[str, EndedSession] = OrderedDict()
        self._with_output: deque[FaultError] = deque()
        self.holders: Counter[str] = Counter()
        self.reservations = Reservations(clock)
        self.draining = False
        self.on_free: Callable[[], None] = lambda: None
        self.on_end: Callable[[SessionRecord, FaultError], None] = lambda _, __: None

    def __len__(self) -> int:
        """Returns the number of sessions, including those being made."""
        return self.holders.total()

    def __iter__(self) -> Iterator[SessionRecord]:
        return iter(list(self.live.values()))

    def reserve_slots(self, name: bytes, count: int, seconds: float, principal: str = "") -> bool:
        """Reserves slots for Makes that name them (see `Reservations.reserve`)."""
        return self.reservations.reserve(name, count, seconds, self.free, principal)

    def reserve(self, owner: str = "", reservation: bytes = b"") -> None:
        """Takes a slot for a session that is about to be made; `add` or `unreserve` must follow.

        Args:
            owner: Name of the client.
            reservation: Id of slots that may be reserved for it.

        Raises:
            FaultError: CAPACITY_REACHED or CLIENT_LIMIT_REACHED.
        """
        self.check_share(owner)
        if not self.reservations.take(reservation) and self.full:
            raise self.no_slot()
        self.holders[owner] += 1

    @property
    def full(self) -> bool:
        """Whether no slot is free."""
        return self.free <= 0

    @property
    def free(self) -> int:
        """Number of slots that are neither taken nor reserved."""
        return self.capacity - len(self) - self.reservations.slots

    def no_slot(self, more: str = "") -> FaultError:
        """Returns the error of a full server, with `more` added to its text."""
        taken = (
            f"all {self.capacity} sessions of this server are"
            if self.capacity > 1
            else "the one session of this server is"
        )
        return FaultError(
            Reason.CAPACITY_REACHED,
            f"{taken} taken{more}; try again later or on another server. The operator "
            "raises the number with --max-sessions",
            metadata={"max_sessions": str(self.capacity)},
            retry_after=1.0,
        )

    def check_share(self, owner: str, waiting: int = 0) -> None:
        """Checks that a client may have one more session in addition to those that it has and waits for.

        Raises:
            FaultError: CLIENT_LIMIT_REACHED.
        """
        if self._per_client and self.holders[owner] + waiting >= self._per_client:
            raise FaultError(
                Reason.CLIENT_LIMIT_REACHED,
                f"{owner} holds {counted(self._per_client, 'session')}, all that one client may have here; close one "
                "first. The operator raises the number with --max-sessions-per-client",
                metadata={"max_sessions_per_client": str(self._per_client)},
                retry_after=1.0,
            )

    def unreserve(self, owner: str = "") -> None:
        """Releases a slot that `reserve` took."""
        self._give_back(owner)
        self.on_free()

    def _give_back(self, owner: str) -> None:
        self.holders[owner] -= 1
        if not self.holders[owner]:
            del self.holders[owner]

    def add(self, session: SessionRecord) -> None:
        """Adds a session in the slot that was reserved for it."""
        self.live[session.id] = session

    def end(self, session: SessionRecord, end_reason: FaultError) -> None:
        """Frees the slot of a session that ended, and keeps its end reason."""
        del self.live[session.id]
        self._give_back(session.owner)
        log_end(session, end_reason)
        self.tally.ends[end_reason.reason.value] += 1
        self.totals.add(session)
        self.usage.add(session)
        self._remember(session, end_reason)
        self.on_end(session, end_reason)
        self.on_free()

    def _remember(self, session: SessionRecord, end_reason: FaultError) -> None:
        self._ended[session.id] = EndedSession(session.secret, end_reason)
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)
        if end_reason.output:
            self._with_output.append(end_reason)
        while len(self._with_output) > _WITH_OUTPUT:
            self._with_output.popleft().output = ""

    def find(self, session_id: str, secret: bytes) -> SessionRecord:
        """Returns a live session to its owner.

        Raises:
            FaultError: MALFORMED_REQUEST, UNKNOWN_SESSION, WRONG_SECRET, or the session's end reason.
        """
        if not session_id:
            raise FaultError(
                Reason.MALFORMED_REQUEST,
                "the request names no session: send a header with the session_id and secret that Make answered with",
            )
        session = self.live.get(session_id) or self._ended.get(session_id)
        if session is None:
            raise self.unknown(session_id)
        if not hmac.compare_digest(session.secret, secret):
            raise FaultError(
                Reason.WRONG_SECRET,
                f"wrong secret for session {session_id}; send the secret that Make answered with",
                metadata={"session_id": session_id},
            )
        if isinstance(session, EndedSession):
            raise copy.copy(session.end_reason)
        return session

    def terminate(self, session_id: str) -> None:
        """Ends a session for the operator; does nothing if it has ended already.

        Raises:
            FaultError: UNKNOWN_SESSION.
        """
        if session := self.live.get(session_id):
            session.end(LifeEvent.TERMINATE)
        elif session_id not in self._ended:
            raise self.unknown(session_id)

    def abandon(self, session_id: str) -> None:
        """Ends a session that no client knows of; does nothing if there is none with this id."""
        if session := self.live.get(session_id):
            session.end(LifeEvent.CLOSE)

    def get(self, session_id: str) -> SessionRecord | None:
        """Returns a live session; None if there is none with this id."""
        return self.live.get(session_id)

    def new_id(self) -> str:
        """Returns an id for a new session: 128 random bits, and the server's incarnation."""
        return f"{secrets.token_hex(16)}-{self.incarnation}"

    def is_fresh(self, session_id: str) -> bool:
        """Returns whether a session is live and has served no request yet."""
        session = self.live.get(session_id)
        return session is not None and session.requests == 0

    def unknown(self, session_id: str, remedy: str = ". Make the environment again") -> FaultError:
        """Returns the error for an id that no session has, or that is remembered no longer."""
        return FaultError(
            Reason.UNKNOWN_SESSION,
            f"no session {session_id!r} on this server (run {self.incarnation}): it ended long ago, or another "
            f"server or an earlier run of this one made it{remedy}",
            metadata={"session_id": session_id, "incarnation": self.incarnation},
        )

    def discount_stall(self, asleep: float) -> None:
        """Excludes a stall of the front from all deadlines, since requests that arrived meanwhile are still unread.

        Args:
            asleep: Seconds since the last sweep.
        """
        if asleep > _STALL_SECONDS:
            for session in self:
                session.liveness.discount_stall(asleep)

    def sweep(self) -> None:
        """Ends sessions whose lease ran out or whose request exceeds its deadline."""
        now = self.clock()
        if self.reservations.sweep():
            self.on_free()
        for session in self:
            try:
                _sweep(session, now)
            except Exception:  # noqa: PERF203 - it must not stop the leases and deadlines of the others
                log_not_swept(session)

    def end_revoked(self, revoked: Callable[[str], bool]) -> None:
        """Ends the sessions of revoked clients.

        Args:
            revoked: Returns whether the client of this name may no longer use the server.
        """
        for session in self:
            if revoked(session.owner):
                session.end(LifeEvent.REVOKE)


def _sweep(session: SessionRecord, now: float) -> None:
    session.poll()
    if session.liveness.overdue(now):
        session.end(LifeEvent.OVERRUN)
    elif session.liveness.expired(now):
        session.end(LifeEvent.EXPIRE)
    elif (left := session.liveness.idle_left(now)) <= 0:
        session.end(LifeEvent.IDLE)
    elif session.begins_to_end(left):
        log_unused(session, left)


class Stream:
    """The sessions that one stream used.

    Attributes:
        used: The sessions, by id.
        client: The client that used one last. It may play, so until it changes its steps need no further check.
    """

    client: Client | None = None

    def __init__(self) -> None:
        self.used: dict[str, SessionRecord] = {}

    def use(self, session: SessionRecord, client: Client) -> None:
        """Records that a client used a session, whose secret it presented."""
        self.client = client
        if session.id not in self.used:
            self.used = {name: used for name, used in self.used.items() if used.end_reason is None}
            self.used[session.id] = session
            session.attach()

    def end(self) -> None:
        """Records that the stream ended."""
        for session in self.used.values():
            session.detach()


#: Serves an InteractRequest and returns its reply: the request, the stream on which it came if any, and its client.
Exchange = Callable[[bytes, Stream | None, Client], Awaitable[bytes]]
