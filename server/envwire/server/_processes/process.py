"""A session process: forked by the fork server, reached over a link, watched on a scoreboard."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import InitVar, dataclass
from operator import attrgetter
from typing import Any

from envwire.codec import FaultError, Reason
from envwire.server._ipc.frames import (
    ADMIT,
    FORK,
    PACKET_BYTES,
    RECORDING,
    ChannelUse,
    FrameError,
)
from envwire.server._ipc.orphans import kill
from envwire.server._logs import extra, of_sessions
from envwire.server._processes.endpoints import FrontEndpoints, open_endpoints
from envwire.server._processes.forkserver_link import ForkserverLink
from envwire.server._processes.forkserver_start import ForkError, OnExit
from envwire.server._processes.link import Link, LinkLostError, Listener, SessionLink
from envwire.server._processes.resources import ProcessorTime

_log = logging.getLogger("envwire.server")

#: Seconds that a process has to exit once its sessions are over.
GRACE_SECONDS = 5.0
#: Longest wait for the news that a process has ended, in seconds.
NEWS_SECONDS = 1.0
#: Seconds that a session process has to fork itself, once it has served the current request.
FORK_SECONDS = 10.0

#: Forks a process with four descriptors and returns its pid: `ForkserverLink.fork`, or a process that copies itself.
Fork = Callable[[Sequence[int], OnExit], Awaitable[int]]


@dataclass(eq=False)
class Process:
    """One process and the sessions in its slots. Created by `Process.spawn`.

    Args:
        pid: Its process id.
        endpoints: The front's ends of its connections.
        shared: Whether it may hold several sessions.
        processor_time: Its processor time, which is counted for its sessions.
        exited: Future of its exit status.
        slots: How many sessions it may hold.
        limit: Largest message accepted, in bytes.
    """

    pid: int
    _endpoints: FrontEndpoints
    _exited: asyncio.Future[int]
    slots: InitVar[int]
    limit: InitVar[int]

    def __post_init__(self, slots: int, limit: int) -> None:
        """Sets up its link and reads its output."""
        endpoints = self._endpoints
        self.output, self.scoreboard = endpoints.output, endpoints.scoreboard
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._free_slots = set(range(slots))
        self.shared = slots > 1
        self.processor_time = ProcessorTime(self.pid)
        self._ending = False
        self._forking = asyncio.Lock()
        self._sessions: set[SessionLink] = set()
        self._link = Link(
            limit, endpoints.message_slots, self._on_lost, self._free_slots.add, self._on_misbehaved
        )
        self._label = f"process {self.pid}"
        self._log_fields: dict[str, Any] = {}
        self.output.follow(self._describe)

    @classmethod
    async def spawn(cls, fork: Fork, slots: int, limit: int) -> Process:
        """Forks a process, connects to it and returns it.

        Args:
            fork: Forks the process.
            slots: How many sessions it may hold.
            limit: Largest message accepted, in bytes.

        Raises:
            ForkserverError: No process could be forked.
            FaultError: The process cannot copy itself.
            OSError: Too many files are open.
        """
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        with open_endpoints(slots) as (endpoints, descriptors):

            def on_exit(status: int) -> None:
                if not exited.done():
                    exited.set_result(status)
                endpoints.output.drain()

            pid = await fork(descriptors, on_exit)
        process = cls(pid, endpoints, exited, slots, limit)
        try:
            await process._connect(endpoints.link)
        except Exception:
            endpoints.link.close()
            process._on_lost()  # the link tells of its end only once it is connected
            raise
        return process

    async def _connect(self, link: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        connecting = loop.create_task(loop.create_connection(lambda: self._link, sock=link))
        try:
            await asyncio.shield(connecting)
        except asyncio.CancelledError:
            # Cancelled halfway, it would leak files and a process. It takes one iteration of the event loop.
            await connecting
            self._link.close()
            raise

    async def copy(
        self, forkserver: ForkserverLink, descriptors: Sequence[int], on_exit: OnExit
    ) -> int:
        """Makes the process fork itself and returns the pid of the copy.

        Args:
            forkserver: Becomes the parent of the copy.
            descriptors: Link, output, control socket and scoreboard of the copy; the caller keeps ownership.
            on_exit: Called with the copy's exit status.

        Raises:
            FaultError: UNSUPPORTED: the process cannot be forked.
            ForkError: The process is gone or does not answer.
        """
        async with self._forking:
            with forkserver.copying():
                try:
                    with forkserver.lifelines.opened(on_exit) as (lifeline, on_end):
                        pid = await self._copied([*descriptors, lifeline])
                        await forkserver.adopt(pid, on_end)
                except FrameError as error:
                    self._on_misbehaved(str(error))
                    raise ForkError(f"the environment's process sent {error}") from error
                except (OSError, asyncio.TimeoutError) as error:
                    raise ForkError(
                        f"the environment's process does not fork: {error!r}"
                    ) from error
        return pid

    async def _copied(self, descriptors: Sequence[int]) -> int:
        """Requests a copy and returns its pid. The answer comes on a socket that closes if the process dies.

        Raises:
            FrameError: The answer says neither a pid nor why there is none.
        """
        ours, theirs = socket.socketpair()
        with ours:
            ours.setblocking(False)
            with theirs:
                to_send = [theirs.fileno(), *descriptors]
                socket.send_fds(self._endpoints.control_socket, [FORK], to_send)
            received = asyncio.get_running_loop().sock_recv(ours, PACKET_BYTES)
            raw = await asyncio.wait_for(received, FORK_SECONDS)
        copied = _read_copied(raw) if raw else await self._unanswered()
        if isinstance(copied, str):
            raise FaultError(
                Reason.UNSUPPORTED,
                f'this session cannot be forked: {copied}. With on_lost="replay" the client can make a copy by itself',
            )
        return copied

    async def _unanswered(self) -> str:
        """Returns why a process that lives did not answer: it had no descriptor left for the socket of its answer.

        Raises:
            ForkError: The process is gone.
        """
        await asyncio.wait({self._lost}, timeout=NEWS_SECONDS)
        if self._lost.done():
            raise ForkError("the environment's process is gone")
        return "too many files are open in the environment's process"

    @property
    def free(self) -> bool:
        """Whether it can hold one more session."""
        return self.alive and bool(self._free_slots)

    @property
    def alive(self) -> bool:
        """Whether it can serve sessions. A process whose last session has ended is about to exit."""
        return not self._ending and not self._lost.done()

    def busy_with_others(self, session: SessionLink) -> bool:
        """Returns whether it is currently serving a request of another session, or making one."""
        others = self._sessions - {session}
        return any(self.scoreboard.busy_for(other.slot) for other in others)

    def open(self, listener: Listener) -> SessionLink:
        """Gives a session a slot and returns its link.

        Args:
            listener: Notified of the session's events.
        """
        slot = min(self._free_slots)
        self._free_slots.remove(slot)
        self.scoreboard.clear(slot)
        session = self._link.open(slot, listener)
        self._sessions.add(session)
        return session

    def tell_draining(self, seconds: float) -> None:
        """Tells the process that the server stops in `seconds`; both share the machine's monotonic clock."""
        self._link.tell_draining(time.monotonic() + seconds)

    def admit(self, session: SessionLink, connection: socket.socket, use: ChannelUse) -> None:
        """Hands a client's connection over to a session.

        Raises:
            LinkLostError: The process is gone or accepts no more connections.
        """
        self._hand_over(ADMIT.pack(session.number, *use), [connection.fileno()])

    def record(self, session: SessionLink, name: str, file: Sequence[int]) -> None:
        """Hands the file of a recording over to a session that is ordered next.

        Args:
            session: The session.
            name: The recording's name.
            file: Its descriptor, which stays the caller's; empty if there is none.

        Raises:
            LinkLostError: The process is gone or accepts no more files.
        """
        self._hand_over(RECORDING.pack(session.number, name.encode()), file)

    def _hand_over(self, packet: bytes, descriptors: Sequence[int]) -> None:
        try:
            socket.send_fds(self._endpoints.control_socket, [packet], list(descriptors))
        except OSError as error:
            raise LinkLostError from error

    def end(self, session: SessionLink) -> None:
        """Ends a session, whose process closes its environment and, after its last session, exits.

        The slot becomes free once the process reports that the session is over.
        """
        if session not in self._sessions:
            return
        self._sessions.remove(session)
        session.end()
        if not self._sessions:
            self._ending = True
            self._link.close()
            asyncio.get_running_loop().call_later(GRACE_SECONDS, self.kill)

    def kill(self) -> None:
        """Kills the process and its process group; the fork server kills its descendants in other groups."""
        self._ending = True
        if self.pid and not self._exited.done():
            kill([self.pid])

    async def wait_lost(self) -> int | None:
        """Waits until the link is lost and returns the exit status; None if it is not known in time."""
        await asyncio.shield(self._lost)
        return await self.wait_exited(NEWS_SECONDS)

    async def wait_exited(self, seconds: float = GRACE_SECONDS + NEWS_SECONDS) -> int | None:
        """Waits until the process is gone, usually for a little longer than the grace period; returns the exit status.

        It is None if the process is not gone in time.
        """
        with contextlib.suppress(asyncio.TimeoutError):
            return await asyncio.wait_for(asyncio.shield(self._exited), seconds)
        return None

    def _describe(self) -> tuple[str, dict[str, Any]]:
        """Describes the process's sessions, or the former ones for its last output, as text and as fields of a log."""
        if self._sessions:
            ours = sorted((each.listener for each in self._sessions), key=attrgetter("label"))
            self._label = ", ".join(each.label for each in ours)
            self._log_fields = of_sessions([each.log_fields for each in ours])
        return self._label, {**self._log_fields, "process": self.pid}

    def _on_misbehaved(self, what: str) -> None:
        shown = extra(**self._describe()[1])
        _log.warning("session process %d was killed: it sent %s", self.pid, what, extra=shown)
        self.kill()

    def _on_lost(self) -> None:
        self._endpoints.control_socket.close()
        self._endpoints.message_slots.close()
        self.scoreboard.close()
        self._lost.set_result(None)


def _read_copied(raw: bytes) -> int | str:
    """Parses a session process's answer to FORK, which is not trusted: the pid of the copy, or why there is none.

    Raises:
        FrameError: It is neither.
    """
    with contextlib.suppress(ValueError, RecursionError):
        match json.loads(raw):
            case {"pid": int(pid)}:
                return pid
            case {"failed": str(why)}:
                return why
            case _:
                pass
    raise FrameError(f"an answer of {len(raw)} bytes that names no copy")
