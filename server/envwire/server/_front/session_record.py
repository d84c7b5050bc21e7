"""One session as the front sees it: a slot in a process, a lease, and in the end a reason why."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from envwire.codec import FaultError, Reason
from envwire.server._auth.allow_list import MakeOrder
from envwire.server._ipc.bounds import SEND_SECONDS
from envwire.server._ipc.fault_replies import afresh
from envwire.server._processes.exit_status import SUSPICIONS
from envwire.server._processes.process import AdmitError, LinkLostError, Process
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import session_header

#: Requests that may wait for one session; more are refused.
MAX_PENDING = 64
#: A request that no session serves: its refusal is a sign of life and changes nothing.
_PROBE = pb.InteractRequest(get_server_info=pb.GetServerInfoRequest()).SerializeToString()


@dataclass(eq=False)
class SessionRecord:
    """A session and its slot in a process.

    Attributes:
        lease: Seconds that it lives without an open stream or direct channel and without a request.
        clock: Monotonic time, in seconds.
        timeout: Seconds that the present request may take.
        last_used: When it last served a request or had a stream.
        busy_since: When the request that the front waits for began; None when it waits for none.
        streams: Open streams that used it.
        end_reason: Why it ended; None while it lives.
        owner: Name of the client that made it.
        header: What every request of the owner begins with.
    """

    lease: float
    clock: Callable[[], float]
    timeout: float
    on_end: Callable[[SessionRecord], None]
    process: Process
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    last_used: float = 0.0
    busy_since: float | None = None
    streams: int = 0
    end_reason: FaultError | None = None
    owner: str = ""

    def __post_init__(self) -> None:
        """Takes a slot in the process."""
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending = 0
        self._served = 0
        self._probing = False
        self._link = self.process.open(self)
        self.header = session_header(self.id, self.secret)
        self.last_used = self._heard_at = self.clock()

    async def make(self, order: MakeOrder) -> bytes:
        """Lets the process make the environment and returns its reply.

        Raises:
            FaultError: The session ended before it replied.
        """
        return await self._ask(lambda: self._link.make(order))

    async def copy(self) -> bytes:
        """Lets the process serve the environment that it was forked with, and returns its reply.

        Raises:
            FaultError: The session ended before it replied.
        """
        return await self._ask(self._link.copy)

    async def ask(self, message: bytes) -> bytes:
        """Lets the process serve a request of the client and returns its reply.

        Args:
            message: The request, without a header.

        Raises:
            FaultError: The session ended before it replied, or too many requests wait already.
        """
        return await self._ask(lambda: self._link.relay(message))

    async def _ask(self, send: Callable[[], asyncio.Future[bytes]]) -> bytes:
        if self.end_reason is not None:
            raise afresh(self.end_reason)
        if self._pending >= MAX_PENDING:
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"{MAX_PENDING} requests of this session wait already; wait for their replies before sending more",
                retry_after=1.0,
            )
        try:
            reply = send()
        except LinkLostError:
            raise await self._wait_end_reason() from None
        self._begin()
        try:
            return await reply
        except LinkLostError:
            raise await self._wait_end_reason() from None

    def _begin(self) -> None:
        self._pending += 1
        self.last_used = self.clock()
        if self.busy_since is None:
            self.busy_since = self.last_used

    def on_reply(self) -> None:
        """Notes that the process replied, whoever still waits for it."""
        self._pending -= 1
        self.last_used = self._heard_at = self.clock()
        self.busy_since = self.last_used if self._pending else None
        self._probing = False

    async def admit(self, connection: socket.socket, shares_memory: bool) -> None:
        """Hands a client's connection over to the process: a direct channel.

        Args:
            connection: The connection, which stays the caller's to close here.
            shares_memory: Whether the client takes large frames from shared memory.

        Raises:
            FaultError: The session has ended.
        """
        if self.end_reason is not None:
            raise afresh(self.end_reason)
        self.last_used = self.clock()
        try:
            self.process.admit(self._link, connection, shares_memory)
        except AdmitError:
            raise await self._wait_end_reason() from None

    def look(self) -> None:
        """Takes over what went on without the front, on a direct channel."""
        served, now = self.process.scoreboard.served(self._link.slot), self.clock()
        if served != self._served:
            self._served = served
            self.last_used = self._heard_at = now
        elif self.process.scoreboard.connected(self._link.slot):
            self.last_used = now
            if self.busy_since is None and now - self._heard_at > self.timeout:
                self._probe()

    def _probe(self) -> None:
        """Asks for a sign of life: a process that was stopped, or hangs in the kernel, stays connected."""
        if self.process.scoreboard.busy_for(self._link.slot):
            return
        with contextlib.suppress(LinkLostError):
            self._link.relay(_PROBE).cancel()  # that it replies is reply enough
            self._begin()
            self._probing = True

    def discount_stall(self, seconds: float) -> None:
        """Lets a time not count in which the front itself stood still."""
        self.last_used += seconds
        self._heard_at += seconds
        if self.busy_since is not None:
            self.busy_since += seconds

    def stats(self) -> tuple[int, float, float]:
        """Returns the requests served, the seconds spent on them, and those that the environment's steps took."""
        scoreboard = self.process.scoreboard
        serving, stepping = scoreboard.times(self._link.slot)
        return scoreboard.served(self._link.slot), serving / 1e9, stepping / 1e9

    def overdue(self, now: float) -> bool:
        """Whether the present request has taken longer than it may."""
        asked = 0.0 if self.busy_since is None else now - self.busy_since
        if self._probing:  # a client that reads slowly may keep it so long
            asked -= SEND_SECONDS
        return max(asked, self.process.scoreboard.busy_for(self._link.slot)) > self.timeout

    def expired(self, now: float) -> bool:
        """Whether nobody has cared for it for the time of its lease."""
        return self.streams == 0 and self.busy_since is None and now - self.last_used > self.lease

    def touch(self) -> None:
        """Lets the lease begin anew."""
        self.last_used = self.clock()

    def attach(self) -> None:
        """Notes an open stream."""
        self.streams += 1

    def detach(self) -> None:
        """Notes the end of a stream; from now on the lease runs."""
        self.streams -= 1
        self.touch()

    def end(self, end_reason: FaultError, *, at_once: bool = False) -> None:
        """Ends the session: gently, so that the environment is closed, or at once, by the death of its process.

        Doing so again changes nothing.
        """
        if self.end_reason is not None:
            return
        self.end_reason = end_reason
        if not self._ended.done():
            self._ended.set_result(None)
        if at_once:
            end_reason.output = self.process.output.text()
            self.process.kill()
        self.process.leave(self._link)
        self.on_end(self)

    def on_closed(self) -> None:
        """Notes that its client closed it on a direct channel."""
        self.end(closed(self.id))

    def on_lost(self) -> None:
        """Notes that the process is gone; why, is about to be known."""
        if self.end_reason is None:
            self._losing = asyncio.ensure_future(self._lose())

    async def _lose(self) -> None:
        status = await self.process.wait_lost()
        self.end(_lost(self.id, self.process.pid, status), at_once=True)

    async def _wait_end_reason(self) -> FaultError:
        """Returns why the link broke; whoever broke it, or `_lose`, is about to say."""
        await asyncio.shield(self._ended)
        return (
            afresh(self.end_reason) if self.end_reason else _lost(self.id, self.process.pid, None)
        )


def closed(session_id: str) -> FaultError:
    """Returns the end reason of a session that its client closed."""
    return FaultError(
        Reason.SESSION_CLOSED,
        f"session {session_id} was closed; make the environment again to go on",
        metadata={"session_id": session_id},
    )


def misbehaved(session_id: str, pid: int) -> FaultError:
    """Returns the end reason of a session whose process sends what no session process does."""
    return FaultError(
        Reason.SESSION_LOST,
        f"the environment's process sent what is no answer and was killed; its session {session_id} is gone. Make the "
        "environment again to go on",
        metadata={"session_id": session_id, "pid": str(pid)},
    )


def _lost(session_id: str, pid: int, status: int | None) -> FaultError:
    return FaultError(
        Reason.SESSION_LOST,
        f"the environment's process {_how(status)}; its session {session_id} is gone. The end of its output is in "
        "the details. Make the environment again to go on",
        metadata={
            "session_id": session_id,
            "pid": str(pid),
            "exit_status": "unknown" if status is None else str(status),
        },
    )


def _how(status: int | None) -> str:
    if status is None:
        return "closed its connection"
    if status >= 0:
        return f"exited with status {status}"
    try:
        how = f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        how = f"was killed by signal {-status}"
    return how + (f" ({why})" if (why := SUSPICIONS.get(-status)) else "")
