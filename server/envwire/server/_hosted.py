"""One session as the front sees it: a process, a link to it, a lease, and in the end a fate."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from envwire.codec import FaultError, Reason
from envwire.server._faults import afresh
from envwire.server._link import Link, LinkLostError
from envwire.server._output import OutputTail
from envwire.server._template_link import TemplateLink

#: Requests that may wait for one session; more are refused.
MAX_PENDING = 64
#: Time that a process has to leave by itself once its session is over.
GRACE_SECONDS = 5.0
#: Time to wait for the news of how a process ended.
_NEWS_SECONDS = 1.0


@dataclass(eq=False)
class HostedSession:
    """A session and its process.

    Attributes:
        lease: Seconds that it lives without an open stream and without a request.
        clock: Monotonic time, in seconds.
        last_used: When it last served a request or had a stream.
        busy_since: When the request that it serves now began; None when it is idle.
        timeout: Seconds that the present request may take.
        streams: Open streams that used it.
        fate: Why it ended; None while it lives.
    """

    lease: float
    clock: Callable[[], float]
    timeout: float
    on_end: Callable[[HostedSession], None]
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    last_used: float = 0.0
    busy_since: float | None = None
    streams: int = 0
    pid: int = 0
    fate: FaultError | None = None

    async def start(self, template: TemplateLink, limit: int) -> None:
        """Forks its process and connects to it.

        Raises:
            TemplateError: No process could be forked.
            OSError: Too many files are open.
        """
        loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[int] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            link, their_link = socket.socketpair()
            ours.callback(link.close)
            theirs.callback(their_link.close)
            reading, writing = os.pipe2(os.O_CLOEXEC)
            theirs.callback(os.close, writing)
            self._output = OutputTail(reading)
            ours.callback(self._output.close)
            self.pid = await template.fork(their_link, writing, self._on_exit)
            ours.pop_all()
        link.setblocking(False)
        _, self._link = await loop.create_connection(
            lambda: Link(limit, self._on_lost, self._on_reply), sock=link
        )
        self.last_used = self.clock()

    async def ask(self, message: bytes) -> bytes:
        """Lets the process serve a request and returns its reply.

        Raises:
            FaultError: The session ended before it replied, or too many requests wait already.
        """
        if self.fate is not None:
            raise afresh(self.fate)
        if self._link.pending >= MAX_PENDING:
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"{MAX_PENDING} requests of this session wait already; wait for their replies before sending more",
                retry_after=1.0,
            )
        self.last_used = self.clock()
        if self.busy_since is None:
            self.busy_since = self.last_used
        try:
            return await self._link.ask(message)
        except LinkLostError:
            raise await self._told_fate() from None

    def _on_reply(self) -> None:
        self.last_used = self.clock()
        self.busy_since = self.last_used if self._link.pending else None

    def overdue(self, now: float) -> bool:
        """Whether the present request has taken longer than it may."""
        return self.busy_since is not None and now - self.busy_since > self.timeout

    def expired(self, now: float) -> bool:
        """Whether nobody has cared for it for the time of its lease."""
        return self.streams == 0 and self.busy_since is None and now - self.last_used > self.lease

    def attach(self) -> None:
        """Notes an open stream."""
        self.streams += 1

    def detach(self) -> None:
        """Notes the end of a stream; from now on the lease runs."""
        self.streams -= 1
        self.last_used = self.clock()

    def end(self, fate: FaultError, *, at_once: bool = False) -> None:
        """Ends the session: gently, so that the environment is closed, or at once.

        Doing so again changes nothing.
        """
        if self.fate is not None:
            return
        self.fate = fate
        if not self._ended.done():
            self._ended.set_result(None)
        if at_once:
            fate.output = self._output.text()
            self.kill()
        self._link.close()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self.kill)
        self.on_end(self)

    def kill(self) -> None:
        """Kills the process and all that it started."""
        if self.pid and not self._exited.done():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _on_exit(self, status: int) -> None:
        if not self._exited.done():
            self._exited.set_result(status)
        self._output.drain()

    async def wait_exited(self) -> None:
        """Waits until the process is gone, as long as the grace lasts and a little more."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._exited), GRACE_SECONDS + _NEWS_SECONDS)

    def _on_lost(self) -> None:
        if self.fate is None:
            self._losing = asyncio.ensure_future(self._lose())

    async def _lose(self) -> None:
        status: int | None = None
        with contextlib.suppress(asyncio.TimeoutError):
            status = await asyncio.wait_for(asyncio.shield(self._exited), _NEWS_SECONDS)
        self.end(_lost(self.id, self.pid, status), at_once=True)

    async def _told_fate(self) -> FaultError:
        """Returns why the link broke; whoever broke it, or `_lose`, is about to say."""
        await asyncio.shield(self._ended)
        return afresh(self.fate) if self.fate else _lost(self.id, self.pid, None)


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
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
