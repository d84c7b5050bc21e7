"""The session process: reads requests, lets its sessions serve them, writes replies. It knows nothing but frames.

Requests come from the front, on the link, and straight from clients, on direct channels that the front hands over
through the door. A process holds one session unless the operator packs more into it.
"""

from __future__ import annotations

import contextlib
import gc
import socket
import traceback
from collections import deque
from typing import NoReturn

from envwire.codec import FaultError, Reason, encode_warnings, fault_from_exception
from envwire.codec.fastpath.inlining import pieces
from envwire.server._hosting.libraries import Catalogue
from envwire.server._hosting.making import describe, make_environment
from envwire.server._ipc.allocation import keep_freed_memory
from envwire.server._ipc.fault_replies import fault_reply
from envwire.server._ipc.frames import Frame
from envwire.server._ipc.gathering import Buffer
from envwire.server._ipc.message_slots import SHELVED_FROM
from envwire.server._session.session import Session, WarningLog
from envwire.server._session.states import State
from envwire.server._worker.control_socket import Door
from envwire.server._worker.direct_channel import Channel
from envwire.server._worker.direct_channels import Channels
from envwire.server._worker.endpoints import Ends, take_ends
from envwire.server._worker.exit import run_and_exit
from envwire.server._worker.forking import obstacle
from envwire.server._worker.poller import Waiting
from envwire.server._worker.process_setup import die_with, take_output
from envwire.server._worker.shared_memory import share
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2
from envwire.wire.frames import Packet

#: The front notes that a session was closed at once; should it be stopped, the client is not kept waiting longer.
_NOTICE_SECONDS = 2.0


class Worker:
    """Serves the sessions of one process.

    Args:
        ends: What ties the process to the front.
        catalogue: What can be made.
        config: The server's settings.
    """

    def __init__(self, ends: Ends, catalogue: Catalogue, config: ServerConfig) -> None:
        self._ends = ends
        self._frames, self._board = ends.frames, ends.board
        self._backlog: deque[Frame] = deque()
        self._catalogue = catalogue
        self._config = config
        self._origin: Session | None = None
        self._packed = config.sessions_per_process > 1
        self._limit = config.max_message_bytes
        self._warnings = WarningLog()
        self._sessions: dict[int, Session] = {}
        self._large: set[int] = set()
        self._waiting = Waiting()
        self._channels = Channels(self._waiting, self._board, self._limit, self._answer_channel)
        self._door = Door(ends.door, self._admit, self._become_copy, self._packed)
        self._over = False

    def run(self) -> None:
        """Serves requests until the session closes or the front is gone."""
        self._waiting.watch(self._ends.link, self._serve_link)
        self._waiting.watch(self._ends.door, self._serve_door)
        with self._warnings.installed():
            with contextlib.suppress(ConnectionError):  # the front ended the link under a request
                self._serve()
            for session in self._sessions.values():
                _abandon(session)

    def _serve(self) -> None:
        wait = self._waiting.wait
        while not self._over:
            for serve in wait():
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
            self._frames.send(place, [self._make(place, frame.message)])
            # A session that could not be made is no session: its process goes once the reason is told.
            self._over = not self._packed and place not in self._sessions
            return
        if len(frame.message) >= SHELVED_FROM:
            keep_freed_memory()
        self._board.begin(place)
        self._frames.send(place, self._reply(place, session, frame.message))
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
        self._channels.close(place)
        self._over = not self._packed

    def _serve_door(self) -> None:
        self._door.serve()
        if self._door.closed:
            self._waiting.forget(self._ends.door)

    def _become_copy(
        self, link: int, output: int, door: int, board: int, lifeline: int
    ) -> NoReturn:
        """Serves the copy of the session; this process never returns to what it was forked in."""
        (session,) = self._sessions.values()
        self._channels.abandon()
        self._ends.close()
        take_output(output)
        die_with(lifeline)
        copy = Worker(take_ends(link, door, board, 1), self._catalogue, self._config)
        session.copied()
        copy._origin, copy._warnings = session, self._warnings
        run_and_exit(copy.run)

    def _admit(self, place: int, shares: bool, connection: socket.socket) -> None:
        """Opens a direct channel to a session."""
        session = self._sessions.get(place)
        if session is None:
            connection.close()
            return
        budget = self._config.shared_memory
        shared = share(budget, session.observation_space) if shares else None
        self._channels.open(place, connection, shared)

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
        self._frames.send(place, ())
        self._ends.link.settimeout(_NOTICE_SECONDS)
        with contextlib.suppress(OSError):
            while (frame := self._frames.receive()) is not None:
                if frame == (place, b""):
                    break
                self._backlog.append(frame)
        self._ends.link.settimeout(None)

    def _bounded(self, packet: Packet) -> Packet:
        attached = packet.attachments.length if packet.attachments else 0
        length = len(packet.message) + attached
        return packet if length <= self._limit else Packet(self._too_large(length))

    def _reply(self, place: int, session: Session, raw: bytes) -> list[Buffer]:
        """Serves a request of the link; where the last reply was large its arrays are sent from where they are."""
        reply = pieces(session.handle(raw, place in self._large))
        length = sum(map(len, reply))
        (self._large.add if length >= SHELVED_FROM else self._large.discard)(place)
        return reply if length <= self._limit else [self._too_large(length)]

    def _too_large(self, length: int) -> bytes:
        fault = FaultError(
            Reason.MESSAGE_TOO_LARGE,
            f"the reply of {length} bytes exceeds the server's limit of {self._limit}; the "
            "operator raises it with --max-message-bytes",
        )
        return fault_reply(fault).SerializeToString()


def _abandon(session: Session) -> None:
    """Closes an environment that nobody closed; what goes wrong is for the log."""
    try:
        session.abandon()
    except Exception:
        traceback.print_exc()
