"""Serves the requests that clients send on direct channels."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from envwire.codec.notices import draining_notice
from envwire.server._ipc.fault_replies import too_large
from envwire.server._ipc.frames import FrameSocket, MemoryUse
from envwire.server._session.states import State
from envwire.server._worker.direct.channel import Channel, ChannelError, end_connection
from envwire.server._worker.direct.channels import Channels
from envwire.server._worker.direct.shared_memory import new_boxes, share
from envwire.server._worker.poller import Waiting
from envwire.server._worker.sessions import ProcessSessions, ServedSession
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2
from envwire.wire.frames import Packet

#: Bound once: looking up an Enum member takes 900 instructions in Python 3.11.
_CLOSED = State.CLOSED
#: Longest wait for the front's acknowledgement of a close, in seconds; it comes at once unless the front is stopped.
_NOTICE_SECONDS = 2.0


@dataclass
class DirectService:
    """Serves the clients on direct channels.

    Attributes:
        waiting: The poller that watches the channels.
        sessions: The sessions of the process.
        frames: The link, over which sessions that their clients closed are reported to the front.
        serve_link: Serves frames that arrived during such a report.
        config: The server's settings.
        channels: The channels, by their sessions.
    """

    waiting: Waiting
    sessions: ProcessSessions
    frames: FrameSocket
    serve_link: Callable[[], None]
    config: ServerConfig

    def __post_init__(self) -> None:
        """Binds what each request needs."""
        self._warnings, self._limit = self.sessions.warnings, self.config.max_message_bytes
        self.channels = Channels(self.waiting, self._limit, self._serve)

    def admit(self, number: int, memory: MemoryUse, connection: socket.socket) -> None:
        """Opens a direct channel to a session.

        Args:
            number: The session's number.
            memory: What memory its client can use. It gets a mailbox if the process holds no other session, so that
                the process need not look into many.
            connection: The connection that the front hands over.
        """
        served = self.sessions.by_number.get(number)
        if served is None:
            end_connection(connection)
            return
        space = served.session.hosted.env.observation_space
        shared = share(self.config.shared_memory, space) if memory.frames else None
        boxes = new_boxes() if memory.mailbox and not self.sessions.packed else None
        self.channels.open(served, Channel(connection, self._limit, shared, boxes))

    def _serve(self, served: ServedSession, channel: Channel, raw: bytes) -> None:
        session, row = served.session, served.row
        self._warnings.log = session.warnings
        row.begin()
        packet = session.handle(raw, True)
        size = packet.size
        if size > self._limit or self.sessions.stops_at is not None:
            packet = self._amended(packet)
            size = packet.size
        replied = time.monotonic_ns()
        if session.state is _CLOSED:
            self._close(served, channel, packet)
            return
        try:
            channel.send(packet)
        finally:  # after the send: the client need not wait for it
            row.received += len(raw)
            row.sent += size
            row.end(session.stepping, session.steps, replied)
            session.count()

    def _amended(self, packet: Packet) -> Packet:
        """Returns the error for a reply that is too long; adds the notice of a server that drains."""
        if packet.size > self._limit:
            packet = Packet(too_large(packet.size, self._limit))
        stops_at = self.sessions.stops_at
        return packet if stops_at is None else _with_notice(packet, stops_at)

    def _close(self, served: ServedSession, channel: Channel, packet: Packet) -> None:
        """Answers a close once the session's slot is free."""
        self.channels.release(served)
        self.sessions.remove(served)
        self.frames.announce_closed(served.number, _NOTICE_SECONDS)
        with contextlib.suppress(ChannelError):  # the client may be gone
            channel.send(packet)
        self.channels.linger(served, channel)
        if self.frames.waiting:  # arrived during the wait for the ACK
            self.serve_link()


def _with_notice(packet: Packet, stops_at: float) -> Packet:
    """Returns a reply with the notice that the server stops at `stops_at`."""
    notice = draining_notice(stops_at - time.monotonic())
    beside = environment_pb2.InteractResponse(notices=[notice]).SerializeToString()
    return Packet(packet.message + beside, packet.attachments)
