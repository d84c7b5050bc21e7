"""The table of a server's sessions: open ones, ended ones that are still explained, and limits per client."""

from __future__ import annotations

import hmac
import secrets
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from envwire.codec import FaultError, Reason
from envwire.server._front.makes.make_parts import MakeParts
from envwire.server._front.sessions.group_slots import GroupSlots
from envwire.server._front.sessions.life import Event
from envwire.server._front.sessions.log import log_end
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.reservations import Reservations
from envwire.server._front.sessions.served import Served
from envwire.server._front.tally import Tally
from envwire.server._ipc.fault_replies import afresh
from envwire.wire.envelope import STEP_REQUEST, cut_header, locate_header

#: Ended sessions that are remembered, so that their clients learn why they ended: 1.4 kB each. The last ones are
#: remembered with what they printed last: up to 16 kB each.
_REMEMBERED, _WITH_OUTPUT = 4096, 256
#: Sweeps run ten times a second. A longer pause means that the process was stopped or got no processor time.
_STOOD_STILL = 1.0


@dataclass(frozen=True)
class EndedSession:
    """What is remembered of a session that ended: enough to tell its owner why."""

    secret: bytes = field(repr=False)
    end_reason: FaultError


class Sessions:
    """The sessions of one server by id.

    Args:
        capacity: How many may live at once.
        clock: Monotonic time, in seconds.
        incarnation: Name of this run of the server.
        per_client: How many may live at once for one client; 0 for as many as it likes.

    Attributes:
        incarnation: Name of this run of the server.
        capacity: How many may live at once.
        tally: What the server did since it started.
        served: What sessions served that have ended.
        make_parts: Where the time of Makes went.
        holders: How many sessions each client has, those being made included, by its name.
        reservations: Slots that are kept for Makes which name them.
        group_slots: How many slots each group may take.
        on_free: Called when a slot became free.
        on_end: Called with a session that ended.
    """

    def __init__(
        self, capacity: int, clock: Callable[[], float], incarnation: str, per_client: int = 0
    ) -> None:
        self.capacity = capacity
        self.tally = Tally(clock)
        self.served = Served()
        self.make_parts = MakeParts()
        self._clock = clock
        self.incarnation = incarnation
        self._per_client = per_client
        self._live: dict[str, SessionRecord] = {}
        self._ended: OrderedDict[str, EndedSession] = OrderedDict()
        self._with_output: deque[FaultError] = deque()
        self._making = 0
        self.holders: Counter[str] = Counter()
        self.reservations = Reservations(clock)
        self.group_slots = GroupSlots()
        self.on_free: Callable[[], None] = lambda: None
        self.on_end: Callable[[SessionRecord], None] = lambda _: None

    def __len__(self) -> int:
        """Returns how many sessions there are, those being made included."""
        return len(self._live) + self._making

    def __iter__(self) -> Iterator[SessionRecord]:
        return iter(list(self._live.values()))

    def keep(self, name: bytes, count: int, seconds: float, principal: str = "") -> bool:
        """Keeps slots for Makes which name them (see `Reservations.reserve`)."""
        return self.reservations.reserve(name, count, seconds, self.free, principal)

    def reserve(self, owner: str = "", reservation: bytes = b"", group: str = "") -> None:
        """Takes a slot for a session that is about to be made; `add` or `unreserve` settles it.

        Args:
            owner: Name of the client.
            reservation: Names slots that may be kept for it.
            group: Whose slot it is to be.

        Raises:
            FaultError: CAPACITY_REACHED or CLIENT_LIMIT_REACHED.
        """
        self.check_share(owner)
        if self.group_slots.full(group):
            if self.reservations.take(reservation):  # no other Make names the slot
                self.on_free()
            raise self.no_slot(group=group)
        if not self.reservations.take(reservation) and self.full:
            raise self.no_slot()
        self._making += 1
        self.holders[owner] += 1
        self.group_slots.take(group)

    @property
    def full(self) -> bool:
        """Whether no slot is free."""
        return self.free <= 0

    @property
    def free(self) -> int:
        """How many slots nobody has, and no reservation keeps."""
        return self.capacity - len(self) - self.reservations.slots

    def no_slot(self, more: str = "", group: str = "") -> FaultError:
        """Returns the error of a server, or of a group that is full, with `more` added to its text."""
        number, whose, setting = self.capacity, "this server", "--max-sessions"
        if self.group_slots.full(group):
            number, whose = self.group_slots.limits[group], f"group {group!r} of this server"
            setting = f"max_sessions of groups.{group}"
        return FaultError(
            Reason.CAPACITY_REACHED,
            f"all {number} sessions of {whose} are taken{more}; try again later or on another server. The operator "
            f"raises the number with {setting}",
            metadata={"max_sessions": str(number)},
            retry_after=1.0,
        )

    def check_share(self, owner: str, waiting: int = 0) -> None:
        """Checks that a client may have one more session besides those that it holds and waits for.

        Raises:
            FaultError: CLIENT_LIMIT_REACHED.
        """
        if self._per_client and self.holders[owner] + waiting >= self._per_client:
            raise FaultError(
                Reason.CLIENT_LIMIT_REACHED,
                f"{owner} holds {self._per_client} sessions, all that one client may have here; close one first. The "
                "operator raises the number with --max-sessions-per-client",
                metadata={"max_sessions_per_client": str(self._per_client)},
                retry_after=1.0,
            )

    def unreserve(self, owner: str = "", group: str = "") -> None:
        """Gives a reserved slot back."""
        self._making -= 1
        self._give_back(owner)
        self.group_slots.give_back(group)
        self.on_free()

    def _give_back(self, owner: str) -> None:
        self.holders[owner] -= 1
        if not self.holders[owner]:
            del self.holders[owner]

    def add(self, session: SessionRecord) -> None:
        """Adds a session in the slot that was reserved for it."""
        self._making -= 1
        self._live[session.id] = session

    def end(self, session: SessionRecord) -> None:
        """Frees the slot of a session that ended and remembers why it ended."""
        if self._live.pop(session.id, None) is None:
            return
        self._give_back(session.owner)
        self.group_slots.give_back(session.group)
        log_end(session)
        if session.end_reason is not None:
            self.tally.ends[session.end_reason.reason.value] += 1
            self.served.add(session)
            self._remember(session, session.end_reason)
        self.on_end(session)
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
        """Returns a living session to its owner.

        Raises:
            FaultError: MALFORMED_REQUEST, UNKNOWN_SESSION, WRONG_SECRET, or why the session ended.
        """
        if not session_id:
            raise FaultError(
                Reason.MALFORMED_REQUEST,
                "the request names no session: send a header with the session_id and secret that Make answered with",
            )
        session = self._live.get(session_id) or self._ended.get(session_id)
        if session is None:
            raise self._unknown(session_id)
        if not hmac.compare_digest(session.secret, secret):
            raise FaultError(
                Reason.WRONG_SECRET,
                f"wrong secret for session {session_id}; send the secret that Make answered with",
                metadata={"session_id": session_id},
            )
        if isinstance(session, EndedSession):
            raise afresh(session.end_reason)
        return session

    def terminate(self, session_id: str) -> None:
        """Ends a session for the operator; one that has ended stays as it is.

        Raises:
            FaultError: UNKNOWN_SESSION.
        """
        if session := self._live.get(session_id):
            session.end(Event.TERMINATE)
        elif session_id not in self._ended:
            raise self._unknown(session_id)

    def get(self, session_id: str) -> SessionRecord | None:
        """Returns a living session; None when there is none of this id."""
        return self._live.get(session_id)

    def new_id(self) -> str:
        """Returns an id for a session: 128 random bits, and the incarnation of this server."""
        return f"{secrets.token_hex(16)}-{self.incarnation}"

    def is_fresh(self, session_id: str) -> bool:
        """Tells whether a session lives and has served nothing so far."""
        session = self._live.get(session_id)
        return session is not None and session.requests == 0

    def recognise(self, raw: bytes) -> tuple[SessionRecord, bytes] | None:
        """Returns the session of a step that shows its secret, and the step without its header; it is not parsed.

        The step is all there is: nothing follows it that could make another request of the message. Whatever follows
        the header inside of it is for the session to read. None means only that the request has to be parsed.
        """
        if not raw or raw[0] != STEP_REQUEST:
            return None
        session_id, start, end = locate_header(raw)
        session = self._live.get(session_id)
        if session is None or not hmac.compare_digest(raw[start:end], session.header):
            return None
        return session, cut_header(raw, end)

    def _unknown(self, session_id: str) -> FaultError:
        return FaultError(
            Reason.UNKNOWN_SESSION,
            f"no session {session_id!r} on this server (run {self.incarnation}): it ended long ago, or another "
            "server or an earlier run of this one made it. Make the environment again",
            metadata={"session_id": session_id, "incarnation": self.incarnation},
        )

    def discount_stall(self, asleep: float) -> None:
        """Excludes a stall of the front from all deadlines: requests that arrived meanwhile have not been read yet.

        Args:
            asleep: Seconds since the last sweep.
        """
        if asleep > _STOOD_STILL:
            for session in self:
                session.attendance.discount_stall(asleep)

    def sweep(self) -> None:
        """Ends sessions whose lease ran out or whose request takes too long."""
        now = self._clock()
        if self.reservations.sweep():
            self.on_free()
        for session in self:
            session.look()
            if session.attendance.overdue(now):
                session.end(Event.OVERRUN)
            elif session.attendance.expired(now):
                session.end(Event.EXPIRE)

    def evict(self, revoked: Callable[[str], bool]) -> None:
        """Ends the sessions of clients that may no longer be here.

        Args:
            revoked: Whether the client of this name may no longer use the server.
        """
        for session in self:
            if revoked(session.owner):
                session.end(Event.REVOKE)
