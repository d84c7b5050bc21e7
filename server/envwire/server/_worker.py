"""The session process: reads requests, lets its sessions serve them, writes replies. It knows nothing but frames.

Requests come from the front, on the link, and straight from clients, on direct channels that the front hands over
through the door. A process holds one session unless the operator packs more into it. It leaves by `os._exit`: it was
forked, and the exit handlers that it inherited are its parent's.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import socket
import sys
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from envwire.codec import FaultError, Reason, encode_warnings, fault_from_exception
from envwire.codec.frames import Packet
from envwire.codec.patience import Patience
from envwire.server._board import Board
from envwire.server._channel import Channel, ChannelError
from envwire.server._config import ServerConfig
from envwire.server._faults import fault_reply
from envwire.server._forking import fork_apart, obstacle
from envwire.server._frames import DOOR, FORK, Frame, FrameSocket, send_frame
from envwire.server._libraries import Catalogue
from envwire.server._making import describe, make_environment
from envwire.server._session import Session, WarningLog
from envwire.server._shared import share
from envwire.server._states import State
from envwire.server._ties import die_with, take_output
from envwire.v1 import environment_pb2

#: The front notes that a session was closed at once; should it be stopped, the client is not kept waiting longer.
_NOTICE_SECONDS = 2.0
#: Link, output, door, board and lifeline of a copy.
_COPY_DESCRIPTORS = 5


class Worker:
    """Serves the sessions of one process.

    Args:
        link: Connected, blocking socket to the front.
        door: Socket of packets, on which the front hands over direct channels.
        board: Where the front looks what goes on here.
        catalogue: What can be made.
        config: The server's settings.
    """

    def __init__(
        self,
        link: socket.socket,
        door: socket.socket,
        board: Board,
        catalogue: Catalogue,
        config: ServerConfig,
    ) -> None:
        self._link = link
        self._frames = FrameSocket(link)
        self._backlog: deque[Frame] = deque()
        self._door = door
        self._board = board
        self._catalogue = catalogue
        self._config = config
        self._origin: Session | None = None
        self._packed = config.sessions_per_process > 1
        self._limit = config.max_message_bytes
        self._shared_bytes = config.shared_memory
        self._warnings = WarningLog()
        self._sessions: dict[int, Session] = {}
        self._channels: dict[int, Channel] = {}
        self._poll = select.poll()
        self._ready: dict[int, Callable[[], None]] = {}
        self._over = False

    def run(self) -> None:
        """Serves requests until the session closes or the front is gone."""
        self._watch(self._link, self._serve_link)
        self._watch(self._door, self._open_door)
        with self._warnings.installed():
            with contextlib.suppress(ConnectionError):  # the front ended the link under a request
                self._serve()
            for session in self._sessions.values():
                _abandon(session)

    def _watch(self, source: socket.socket | Channel, ready: Callable[[], None]) -> None:
        self._ready[source.fileno()] = ready
        self._poll.register(source.fileno(), select.POLLIN)

    def _forget(self, source: Channel) -> None:
        del self._ready[source.fileno()]
        self._poll.unregister(source.fileno())

    def _serve(self) -> None:
        poll, ready, patience = self._poll.poll, self._ready, Patience()
        while not self._over:
            readable = patience.look(poll) or poll()
            patience.woke()
            for descriptor, _ in readable:
                # A channel may have been replaced by another one since the poll.
                if serve := ready.get(descriptor):
                    serve()

    def _serve_link(self) -> None:
        while True:
            frame = self._backlog.popleft() if self._backlog else self._frames.receive()
            if frame is None:
                self._over = True
            elif frame.message:
                self._answer(frame)
            else:
                self._end(frame.place)
            if self._over or not (self._backlog or self._frames.waiting):
                return

    def _answer(self, frame: Frame) -> None:
        place = frame.place
        session = self._sessions.get(place)
        if session is None:
            send_frame(self._link, place, self._make(place, frame.message))
            # A session that could not be made is no session: its process goes once the reason is told.
            self._over = not self._packed and place not in self._sessions
            return
        self._board.begin(place)
        packet = self._bounded(session.handle(frame.message))
        send_frame(self._link, place, packet.message)
        self._board.end(place, session.stepping)
        if session.state is State.CLOSED:
            self._leave(place)

    def _make(self, place: int, raw: bytes) -> bytes:
        reply = environment_pb2.InteractResponse()
        try:
            request = environment_pb2.InteractRequest.FromString(raw)
            session = self._origin or self._new_session(request.make)
            reply.make.CopyFrom(describe(session.hosted.env, session.hosted.family))
            reply.make.capabilities.extend(session.capabilities)
            if not self._packed and not obstacle():
                reply.make.capabilities.append("fork")
        except FaultError as fault:
            return fault_reply(fault).SerializeToString()
        except Exception as error:
            return fault_reply(fault_from_exception(error)).SerializeToString()
        encode_warnings(self._warnings.take(), reply.make.warnings)
        self._sessions[place] = session
        if not self._packed:
            gc.collect()
            gc.freeze()  # what an environment consists of need not be looked at again and again
        return reply.SerializeToString()

    def _new_session(self, request: environment_pb2.MakeRequest) -> Session:
        env, family = make_environment(self._catalogue, request)
        return Session(env, family, self._warnings, self._catalogue.reach)

    def _end(self, place: int) -> None:
        """Closes the environment of a session that the front ended."""
        session = self._sessions.get(place)
        self._leave(place)
        if session is not None:
            _abandon(session)

    def _leave(self, place: int) -> None:
        self._sessions.pop(place, None)
        self._close_channel(place)
        self._over = not self._packed

    def _open_door(self) -> None:
        packet, descriptors, _, _ = socket.recv_fds(self._door, FORK.size, _COPY_DESCRIPTORS)
        if not packet:  # the front is gone; the link tells as much
            self._poll.unregister(self._door.fileno())
        elif len(packet) == FORK.size:
            self._fork(FORK.unpack(packet)[0], descriptors)
        elif descriptors:  # else too many files are open here; the client tries again
            place, shares = DOOR.unpack(packet)
            self._open_channel(place, shares, socket.socket(fileno=descriptors[0]))

    def _fork(self, number: int, descriptors: list[int]) -> None:
        """Forks this process for another session, and tells the front what came of it."""
        answer: dict[str, int | str] = {"fork": number}
        try:
            why = "several sessions share the process" if self._packed else obstacle()
            if not why and len(descriptors) < _COPY_DESCRIPTORS:
                why = "too many files are open in the environment's process"
            pid = 0 if why else fork_apart()
            if not why and pid == 0:
                self._become_copy(*descriptors)
            answer |= {"failed": why} if why else {"pid": pid}
        except OSError as error:
            answer["failed"] = str(error)
        for descriptor in descriptors:
            os.close(descriptor)
        self._door.send(json.dumps(answer).encode())

    def _become_copy(
        self, link: int, output: int, door: int, board: int, lifeline: int
    ) -> NoReturn:
        """Serves the copy of the session; this process never returns to what it was forked in."""
        (session,) = self._sessions.values()
        for channel in self._channels.values():
            channel.close()
        self._link.close()
        self._door.close()
        take_output(output)
        die_with(lifeline)
        page = Board(board, 1)
        os.close(board)
        sockets = socket.socket(fileno=link), socket.socket(fileno=door)
        copy = Worker(*sockets, page, self._catalogue, self._config)
        session.copied()
        copy._origin, copy._warnings = session, self._warnings
        run_and_exit(copy)

    def _open_channel(self, place: int, shares: bool, connection: socket.socket) -> None:
        self._close_channel(place)
        session = self._sessions.get(place)
        if session is None:
            connection.close()
            return
        shared = share(self._shared_bytes, session.observation_space) if shares else None
        channel = Channel(connection, self._limit, shared)
        self._channels[place] = channel
        self._watch(channel, partial(self._serve_channel, place, channel))
        self._board.connect(place, True)
        try:
            channel.welcome(self._limit)
        except ChannelError:
            self._close_channel(place)

    def _close_channel(self, place: int) -> None:
        if channel := self._channels.pop(place, None):
            self._board.connect(place, False)
            self._forget(channel)
            channel.close()

    def _serve_channel(self, place: int, channel: Channel) -> None:
        try:
            for raw in channel.receive():
                if self._channels.get(place) is channel:  # nothing is served after a close
                    self._answer_channel(place, channel, raw)
        except ChannelError:
            if self._channels.get(place) is channel:
                self._close_channel(place)

    def _answer_channel(self, place: int, channel: Channel, raw: bytes) -> None:
        session = self._sessions[place]
        self._board.begin(place)
        packet = self._bounded(session.handle(raw, True))
        if session.state is not State.CLOSED:
            try:
                channel.send(packet)
            finally:  # the books are written while the client has its answer already
                self._board.end(place, session.stepping)
            return
        self._board.end(place, session.stepping)
        self._give_notice(place)
        channel.send(packet)
        self._leave(place)
        if self._backlog or self._frames.waiting:  # it came while the front was asked
            self._serve_link()

    def _give_notice(self, place: int) -> None:
        """Tells the front that a session was closed, and waits until its slot is free."""
        send_frame(self._link, place, b"")
        self._link.settimeout(_NOTICE_SECONDS)
        with contextlib.suppress(OSError):
            while (frame := self._frames.receive()) is not None:
                if frame == (place, b""):
                    break
                self._backlog.append(frame)
        self._link.settimeout(None)

    def _bounded(self, packet: Packet) -> Packet:
        attached = packet.attachments.length if packet.attachments else 0
        if len(packet.message) + attached <= self._limit:
            return packet
        fault = FaultError(
            Reason.MESSAGE_TOO_LARGE,
            f"the reply of {len(packet.message) + attached} bytes exceeds the server's limit of {self._limit}; the "
            "operator raises it with --max-message-bytes",
        )
        return Packet(fault_reply(fault).SerializeToString())


def _abandon(session: Session) -> None:
    """Closes an environment that nobody closed; what goes wrong is for the log."""
    try:
        session.abandon()
    except Exception:
        traceback.print_exc()


def run_and_exit(worker: Worker) -> NoReturn:
    """Runs the worker and ends the process with the status that Python itself would end with."""
    status = 1
    try:
        worker.run()
        status = 0
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1
