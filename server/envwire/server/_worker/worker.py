"""The session process: reads frames, passes them to sessions, writes replies.

It reads two kinds of frames. Control frames make, end and acknowledge sessions; only the front writes them, on the
link, where each frame carries its kind. Client frames come on the link as well, and on direct channels, which the front
hands over on the control socket; they are only ever passed to their session. A process holds one session unless the
operator lets sessions share processes.
"""

from __future__ import annotations

import contextlib
import gc
import socket
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

from envwire.codec import FaultError, fault_from_exception
from envwire.codec.fastpath.inlining import pieces
from envwire.server._hosting.libraries import Catalogue
from envwire.server._ipc.allocation import keep_freed_memory
from envwire.server._ipc.fault_replies import fault_reply
from envwire.server._ipc.frames import Kind, pack_header
from envwire.server._ipc.gathering import Buffer
from envwire.server._ipc.message_slots import MIN_SLOT_BYTES
from envwire.server._ipc.worker_frames import (
    AckFrame,
    ClientFrame,
    CopyFrame,
    DrainFrame,
    EndFrame,
    MakeFrame,
    RenderFrame,
    WorkerFrame,
    read_worker_frame,
)
from envwire.server._session.states import State
from envwire.server._session.warning_log import WarningLog, WarningRecorder
from envwire.server._worker.camera import take_picture
from envwire.server._worker.control_socket import ControlSocket, Copied
from envwire.server._worker.direct.channel import Channel, ChannelError, hang_up
from envwire.server._worker.direct.channels import Channels
from envwire.server._worker.direct.shared_memory import share
from envwire.server._worker.endpoints import WorkerEndpoints, take_endpoints
from envwire.server._worker.making import SessionMaker
from envwire.server._worker.poller import Waiting
from envwire.server._worker.process_setup import die_with, take_output
from envwire.server._worker.replies import bounded, too_large, with_notice
from envwire.server._worker.served_session import GONE, ServedSession
from envwire.server.config import ServerConfig
from envwire.wire.frames import Packet

#: Bound once: Python 3.11 takes 900 instructions to find a member of an Enum.
_CLOSED, _REPLY = State.CLOSED, Kind.REPLY
#: How long a close waits for the front's acknowledgement, which comes at once unless the front is stopped.
_NOTICE_SECONDS = 2.0


class Worker:
    """Serves the sessions of one process.

    Args:
        endpoints: Its connections to the front.
        catalogue: What can be made.
        config: The server's settings.
    """

    def __init__(
        self, endpoints: WorkerEndpoints, catalogue: Catalogue, config: ServerConfig
    ) -> None:
        self._endpoints = endpoints
        self._frames, self._scoreboard = endpoints.frames, endpoints.scoreboard
        self._backlog: deque[WorkerFrame] = deque()
        self._catalogue = catalogue
        self._config = config
        self._origin: ServedSession | None = None
        self._packed = config.sessions_per_process > 1
        self._limit = config.max_message_bytes
        self._warnings = WarningRecorder()
        self._maker = SessionMaker(catalogue, self._warnings, config)
        self._sessions: dict[int, ServedSession] = {}
        self._waiting = Waiting()
        self._channels = Channels(self._waiting, self._limit, self._serve_channel)
        self._control_socket = ControlSocket(endpoints.control_socket, self._admit, self._packed)
        self._over = False
        self._stops_at: float | None = None
        self._serve_frame: dict[type[WorkerFrame], Callable[[Any], None]] = {
            ClientFrame: self._serve_client,
            MakeFrame: self._make,
            CopyFrame: self._make_copy,
            EndFrame: self._end,
            AckFrame: lambda _: None,
            DrainFrame: self._drain,
            RenderFrame: self._render,
        }

    def run(self) -> Worker | None:
        """Serves requests until the session closes or the front is gone.

        Returns:
            In a process that was forked for a copy of the session, the worker to run there; else None.
        """
        self._waiting.watch(self._endpoints.link, self._serve_link)
        self._waiting.watch(self._endpoints.control_socket, self._serve_control_socket)
        with self._warnings.installed():
            try:
                with contextlib.suppress(ConnectionError):  # the front has gone during a request
                    self._serve()
            except Copied as copied:
                descriptors = copied.descriptors
            else:
                for served in self._sessions.values():
                    self._end_session(served)
                self._channels.finish()
                return None
        return self._copy(*descriptors)

    def _serve(self) -> None:
        wait = self._waiting.wait
        while not self._over:
            for serve in wait():
                serve()

    def _serve_link(self) -> None:
        while True:
            frame = self._backlog.popleft() if self._backlog else self._receive()
            if frame is None:
                self._over = True
            else:
                self._serve_frame[type(frame)](frame)
            if self._over or not (self._backlog or self._frames.waiting):
                return

    def _receive(self) -> WorkerFrame | None:
        frame = self._frames.receive()
        return None if frame is None else read_worker_frame(frame)

    def _serve_client(self, frame: ClientFrame) -> None:
        served = self._sessions.get(frame.session)
        if served is None:
            self._frames.send(Kind.REPLY, frame.session, [GONE])
            return
        if len(frame.message) >= MIN_SLOT_BYTES:
            keep_freed_memory()
        session, self._warnings.log = served.session, served.warnings
        self._channels.keep_unsent(served)
        self._scoreboard.begin(served.slot)
        reply = self._reply(served, frame.message)
        if session.state is _CLOSED:
            self._channels.close(served)
            self._remove(served)
            behind = pack_header(Kind.CLOSED, served.number)
            self._frames.send(Kind.REPLY, served.number, reply, behind)
        else:
            self._frames.send(_REPLY, served.number, reply)
            self._scoreboard.end(served.slot, session.stepping, session.steps)

    def _make(self, frame: MakeFrame) -> None:
        self._scoreboard.begin(frame.slot)  # those who share the process wait for it
        self._serve_make(frame.session, lambda: self._maker.make(frame))
        self._scoreboard.clear(frame.slot)

    def _make_copy(self, frame: CopyFrame) -> None:
        self._serve_make(frame.session, lambda: self._maker.copy(frame, self._origin))

    def _serve_make(self, number: int, start: Callable[[], ServedSession]) -> None:
        """Starts a session and answers the front's Make, with an error if it fails."""
        try:
            served = start()
            reply = self._maker.describe(served)
        except FaultError as fault:
            self._refuse_make(number, fault)
        except Exception as error:
            self._refuse_make(number, fault_from_exception(error))
        else:
            self._sessions[number] = served
            if not self._packed:
                gc.collect()
                gc.freeze()  # the collector need not visit the environment's objects again and again
            self._frames.send(Kind.REPLY, number, [reply])

    def _refuse_make(self, number: int, fault: FaultError) -> None:
        """Answers a failed Make with its error; the process ends unless it is shared."""
        reply = fault_reply(fault).SerializeToString()
        self._frames.send(Kind.REPLY, number, [reply], pack_header(Kind.CLOSED, number))
        self._over = not self._packed

    def _end(self, frame: EndFrame) -> None:
        """Closes the environment of a session that the front ended."""
        served = self._sessions.get(frame.session)
        if served is None:  # its client has just closed it, which the front will read
            return
        self._channels.close(served)
        self._remove(served)
        self._end_session(served)
        self._frames.send(Kind.CLOSED, served.number)

    def _drain(self, frame: DrainFrame) -> None:
        self._stops_at = frame.stops_at

    def _render(self, frame: RenderFrame) -> None:
        """Takes a picture for a watcher. It is no request: it has no number, and its warnings are nobody's."""
        served = self._sessions.get(frame.session)
        if served is None:  # it is over, which the front will read
            return
        self._warnings.log = WarningLog()
        self._channels.keep_unsent(served)
        picture = take_picture(served.session.hosted.env)
        self._frames.send(Kind.RENDERED, served.number, [picture])

    def _remove(self, served: ServedSession) -> None:
        """Removes a session that is over; its slot is free as soon as the front was told."""
        del self._sessions[served.number]
        self._over = not self._packed

    def _serve_control_socket(self) -> None:
        self._control_socket.serve()
        if self._control_socket.closed:
            self._waiting.unwatch(self._endpoints.control_socket)

    def _copy(
        self, link: int, output: int, control_socket: int, scoreboard: int, lifeline: int
    ) -> Worker:
        """Returns the worker for the copy of the session, in this process, which was forked for it."""
        (served,) = self._sessions.values()
        self._channels.close_all()
        self._endpoints.close()
        take_output(output)
        die_with(lifeline)
        copy = Worker(
            take_endpoints(link, control_socket, scoreboard, 1), self._catalogue, self._config
        )
        served.session.copied()
        copy._origin = served
        return copy

    def _admit(self, number: int, shares: bool, connection: socket.socket) -> None:
        """Opens a direct channel to a session."""
        served = self._sessions.get(number)
        if served is None:
            hang_up(connection)
            return
        budget = self._config.shared_memory
        shared = share(budget, served.session.observation_space) if shares else None
        self._channels.open(served, connection, shared)

    def _serve_channel(self, served: ServedSession, channel: Channel, raw: bytes) -> None:
        """Serves a request that came on a direct channel."""
        session, self._warnings.log = served.session, served.warnings
        self._scoreboard.begin(served.slot)
        packet = bounded(session.handle(raw, True), self._limit)
        if self._stops_at is not None:
            packet = with_notice(packet, self._stops_at)
        if session.state is _CLOSED:
            self._close_from_channel(served, channel, packet)
            return
        try:
            channel.send(packet)
        finally:  # after the send, so that the client need not wait for it
            self._scoreboard.end(served.slot, session.stepping, session.steps)

    def _close_from_channel(self, served: ServedSession, channel: Channel, packet: Packet) -> None:
        self._channels.release(served)
        self._remove(served)
        self._give_notice(served.number)
        with contextlib.suppress(ChannelError):  # the client may be gone
            channel.send(packet)
        self._channels.linger(channel)
        if self._backlog or self._frames.waiting:  # arrived during the wait for the ACK
            self._serve_link()

    def _give_notice(self, number: int) -> None:
        """Tells the front that a session was closed, and waits until its slot is free."""
        self._frames.send(Kind.CLOSED, number)
        self._endpoints.link.settimeout(_NOTICE_SECONDS)
        with contextlib.suppress(OSError):
            while (frame := self._receive()) is not None:
                if frame in (AckFrame(number), EndFrame(number)):
                    break
                self._backlog.append(frame)
        self._endpoints.link.settimeout(None)

    def _reply(self, served: ServedSession, raw: bytes) -> list[Buffer]:
        """Serves a request of the link. After a large reply, the next one's arrays are sent without a copy."""
        reply = pieces(served.session.handle(raw, served.large))
        length = sum(map(len, reply))
        served.large = length >= MIN_SLOT_BYTES
        return reply if length <= self._limit else [too_large(length, self._limit)]

    def _end_session(self, served: ServedSession) -> None:
        """Closes an environment that its client did not close; errors go to the log."""
        self._warnings.log = served.warnings
        try:
            served.session.end()
        except Exception:
            traceback.print_exc()


def serve_session(worker: Worker) -> None:
    """Runs a worker, and in processes that are forked as copies, the worker of the copy.

    A copy first returns from the original's `run`, so that the stack does not grow with copies of copies.
    """
    serving: Worker | None = worker
    while serving is not None:
        serving = serving.run()
