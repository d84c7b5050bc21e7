"""The front's record of one session: its slot in a process, its lease, its deadlines and its end reason."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import secrets
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from functools import partial

from envwire.codec import FaultError
from envwire.server._auth.allow_list import MakeOrder
from envwire.server._front.sessions.backlog import COUNTED_FROM, MAX_PENDING, Backlog
from envwire.server._front.sessions.life import (
    ENDS,
    TRANSITIONS,
    Life,
    LifeEvent,
    describe_end,
    describe_exit,
)
from envwire.server._front.sessions.liveness import ConnectionMonitor, SessionLiveness
from envwire.server._ipc.frames import ChannelUse, Picture
from envwire.server._ipc.scoreboard import Counters, Episode
from envwire.server._processes.link import LinkLostError, SessionLink
from envwire.server._processes.process import Process
from envwire.server._processes.resources import Resources, resources_of
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import session_header

#: A request that every session refuses; the refusal is a sign of life and has no side effect.
_PROBE = pb.InteractRequest(get_server_info=pb.GetServerInfoRequest()).SerializeToString()
#: The end of a session that is not used is told when this part of `max_idle` is left.
_TOLD_PART = 0.2


@dataclass(eq=False)
class SessionRecord:
    """A session and its slot in a process.

    Attributes:
        clock: Monotonic time, in seconds.
        on_end: Called when it has ended, with its end reason.
        began: When it took its slot.
        liveness: Its client's presence, its lease and the deadline of its request.
        warm: Its link, if its environment was made ahead.
        backlog: Limits the bytes of its waiting requests; by default nothing does.
        life: Its state.
        id: Its id; see `Sessions.new_id`.
        owner: Name of the client that made it.
        env_id: The id of its environment.
        kind: What decides how long its steps take (see `step_times`).
        what: The same, or the session that it is a copy of, for texts.
        as_arrays: Whether a vector environment steps its members as arrays instead of one after another.
        renders: Whether pictures can be taken of its environment.
        picture: The last picture that was taken for a watcher.
        events: Its latest events with their times by the clock, for watchers.
        header: The bytes with which every request of the owner begins.
        recording: The name of the recording whose file its process got; "" if there is none.
        recorded: Whether the process has begun the recording.
        resources: What its process had taken when it ended; None while it lives, in a shared process, and if the
            process was gone by then.
        cpu: Processor time of its process that no session before it was counted for, from its end on.
    """

    lease: InitVar[float]
    clock: Callable[[], float]
    timeout: InitVar[float]
    on_end: Callable[[SessionRecord, FaultError], None]
    process: Process
    id: str
    warm: InitVar[SessionLink | None] = None
    backlog: Backlog = field(default_factory=Backlog)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    began: float = 0.0
    life: Life = Life.MAKING
    owner: str = ""
    env_id: str = ""
    kind: bytes = b""
    what: str = ""
    recording: str = ""
    recorded: bool = False
    resources: Resources | None = None
    cpu: float = 0.0
    as_arrays: bool = False
    renders: bool = False
    picture: Picture | None = None
    events: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=32))

    def __post_init__(self, lease: float, timeout: float, warm: SessionLink | None) -> None:
        """Takes a slot in the process."""
        self._ended: asyncio.Future[FaultError] = asyncio.get_running_loop().create_future()
        self._is_made = False
        self._told = False
        #: The bytes that count of each request that waits for its reply, in order.
        self._waiting: deque[int] = deque()
        self._link = warm.pass_to(self) if warm else self.process.open(self)
        self.header = session_header(self.id, self.secret)
        self.began = self.clock()
        self.liveness = SessionLiveness(self.process, self._link, self.clock, lease, timeout)

    def record(self, name: str, file: Sequence[int]) -> None:
        """Hands the file of its recording over to the process, before the environment is made.

        Args:
            name: The recording's name.
            file: Its descriptor, which stays the caller's; empty if there is none.
        """
        with contextlib.suppress(LinkLostError):  # so is the Make that follows
            self.process.record(self._link, name, file)
            self.recording = name

    async def make(self, order: MakeOrder) -> bytes:
        """Orders the process to make the environment; returns its reply.

        Raises:
            FaultError: The session ended before it replied.
        """
        return await self._order(partial(self._link.make, order))

    async def copy(self) -> bytes:
        """Orders the process to serve the environment that it was forked with; returns its reply.

        Raises:
            FaultError: The session ended before it replied.
        """
        return await self._order(self._link.copy)

    async def _order(self, send: Callable[[], asyncio.Future[bytes]]) -> bytes:
        """Sends what the front itself asks of a new session."""
        self._check_alive()
        self._waiting.append(0)
        self.liveness.asked()
        try:
            return await send()
        except LinkLostError:
            raise await self.why_ended() from None

    async def ask(self, message: bytes) -> bytes:
        """Sends a client's request to the process; returns its reply.

        Args:
            message: The request, without a header.

        Raises:
            FaultError: The session ended before it replied, or too many requests wait already.
        """
        if self._ended.done():
            raise copy.copy(self._ended.result())  # else its traceback would grow
        size = len(message)
        if size < COUNTED_FROM and len(self._waiting) < MAX_PENDING:
            size = 0
        else:
            size = self.backlog.take(self.owner, size, self._waiting)
        self._waiting.append(size)
        self.liveness.asked()
        try:
            return await self._link.ask(message)
        except LinkLostError:
            raise await self.why_ended() from None
        finally:
            # The error, this frame and the future form a reference cycle, which must not keep the request alive.
            del message

    def on_reply(self) -> None:
        """Records that the process replied, whether or not the client still waits."""
        if size := self._waiting.popleft():
            self.backlog.give_back(self.owner, size)
        self.liveness.answered(more=bool(self._waiting))

    async def admit(
        self, connection: socket.socket, client: socket.socket, use: ChannelUse
    ) -> None:
        """Hands a client's connection over to the process, as its direct channel.

        Args:
            connection: The connection; the caller keeps ownership of this descriptor.
            client: The client's own socket: the connection itself, or the one that TLS runs over. The caller keeps
                this descriptor as well.
            use: What the client can use on it.

        Raises:
            FaultError: The session has ended.
            OSError: The client has disconnected, or no more files can be opened.
        """
        self._check_alive()
        self.liveness.touch()
        monitor = ConnectionMonitor(client, connection)
        try:
            self.process.admit(self._link, connection, use)
        except LinkLostError:
            monitor.close()
            raise await self.why_ended() from None
        self.liveness.connect(monitor)
        self._note("direct channel opened")

    def poll(self) -> None:
        """Updates what happened on the direct channel, and probes a process that has been silent."""
        if not self.liveness.update():
            return
        with contextlib.suppress(LinkLostError):
            self._link.ask(_PROBE).cancel()  # only the arrival of a reply matters
            self._waiting.append(0)
            self.liveness.probed()

    @property
    def state(self) -> str:
        """Name of its state for operators and watchers, as in their contracts."""
        if self.life is Life.MAKING:
            return "STATE_MAKING"
        return "STATE_BUSY" if self.liveness.busy else "STATE_IDLE"

    @property
    def counters(self) -> Counters:
        """A snapshot of its counters."""
        return self.process.scoreboard.counters(self._link.slot)

    @property
    def episodes(self) -> list[Episode]:
        """Its last episodes, oldest first."""
        return self.process.scoreboard.episodes(self._link.slot)

    @property
    def requests(self) -> int:
        """Number of requests served."""
        return self.process.scoreboard.served(self._link.slot)

    @property
    def steps(self) -> int:
        """Number of steps that its environment took."""
        return self.process.scoreboard.steps(self._link.slot)

    @property
    def output(self) -> str:
        """The last output of its process."""
        return self.process.output.text()

    def attach(self) -> None:
        """Counts an open stream."""
        self._note("stream opened")
        self.liveness.streams += 1

    def detach(self) -> None:
        """Counts the end of a stream; without any stream the lease runs."""
        self.liveness.streams -= 1
        self._note("stream closed")
        self.liveness.touch()

    @property
    def label(self) -> str:
        """Name of the session in the operator's log."""
        return f"session {self.id} ({self.what} for {self.owner})"

    @property
    def log_fields(self) -> dict[str, str]:
        """The session's fields in a JSON log."""
        return {"session": self.id, "client": self.owner, "env_id": self.env_id}

    @property
    def end_reason(self) -> FaultError | None:
        """Why the session ended; None while it is live."""
        return self._ended.result() if self._ended.done() else None

    async def render(self) -> Picture:
        """Takes a picture of the environment, between its client's requests.

        Raises:
            FaultError: The session has ended.
        """
        self._check_alive()
        try:
            picture = await asyncio.shield(self._link.render())
        except LinkLostError:
            raise await self.why_ended() from None
        self.picture = picture if picture.rgb else self.picture
        return picture

    def _note(self, text: str) -> None:
        self.events.append((self.clock(), text))

    def _check_alive(self) -> None:
        if self._ended.done():
            raise copy.copy(self._ended.result())  # else its traceback would grow

    def on_made(self, step_timeout: float) -> None:
        """Records that its environment is made.

        Args:
            step_timeout: Seconds that each request may take from now on.

        Raises:
            FaultError: The session ended meanwhile.
        """
        self._check_alive()
        self.life = TRANSITIONS[self.life, LifeEvent.MADE]
        self._note("made")
        self.liveness.timeout = step_timeout
        self._is_made = True

    def end(self, event: LifeEvent, **facts: str) -> None:
        """Ends the session as the event's entry in the table says; does nothing if it has ended already.

        Args:
            event: Why it ends.
            facts: Further facts for its client's error.
        """
        life = TRANSITIONS.get((self.life, event))
        if life is None:
            return
        self.life = life
        self.cpu = self.process.processor_time.take()
        if not self.process.shared:
            self.resources = resources_of(self.process.pid)
        self.backlog.give_back(self.owner, sum(self._waiting))
        self._waiting.clear()
        self.liveness.disconnect()
        reason = describe_end(event, {**self._facts(), **facts})
        self._ended.set_result(reason)
        self._note(f"ended: {reason.reason.value}")
        if ENDS[event].kills:
            reason.output = self.process.output.text()
            self.process.kill()
        self.process.end(self._link)
        self.on_end(self, reason)

    def _facts(self) -> dict[str, str]:
        return {
            "session_id": self.id,
            "owner": self.owner,
            "lease": f"{self.liveness.lease:g}",
            "timeout": f"{self.liveness.timeout:g}",
            "idle": f"{self.liveness.max_idle:g}",
            "pid": str(self.process.pid),
            "option": "--step-timeout" if self._is_made else "--make-timeout",
        }

    def begins_to_end(self, left: float) -> bool:
        """Returns, once, that the session will end soon because its client does not use it.

        Args:
            left: Seconds until it ends unless its client sends a request.
        """
        told, self._told = self._told, left < _TOLD_PART * self.liveness.max_idle
        if told or not self._told:
            return False
        self._note(f"not used: ends in {left:.0f} s")
        return True

    def on_closed(self) -> None:
        """Records that its client closed it on a direct channel."""
        self.end(LifeEvent.CLOSE)

    def on_lost(self) -> None:
        """Records that the process is gone. The reason is known a moment later, when the exit status is read."""
        self.liveness.disconnect()  # so that the client sees the end at once
        if not self._ended.done():
            self._losing = asyncio.ensure_future(self._lose())

    async def _lose(self) -> None:
        status = await self.process.wait_lost()
        known = "unknown" if status is None else str(status)
        self.end(LifeEvent.DIE, how=describe_exit(status), exit_status=known)

    async def why_ended(self) -> FaultError:
        """Waits until the end reason of a session whose process is gone is known, and returns it."""
        return copy.copy(await asyncio.shield(self._ended))
