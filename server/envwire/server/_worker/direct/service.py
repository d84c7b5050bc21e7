"""Serves the requests that clients send on direct channels."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from envwire.codec.errors.statuses import draining_notice
from envwire.device.device_memory import DeviceError
from envwire.device.devices import CUDA, Identity
from envwire.server._ipc.frames import ChannelUse, Encode, FrameSocket
from envwire.server._ipc.refusals import too_large
from envwire.server._session.states import State
from envwire.server._worker.direct.channel import (
    Channel,
    ChannelError,
    NoDescriptorsError,
    end_connection,
)
from envwire.server._worker.direct.encoder import Encoder
from envwire.server._worker.direct.shared_memory import (
    box_bytes,
    fits_boxes,
    new_boxes,
    share,
    share_device,
)
from envwire.server._worker.poller import Poller
from envwire.server._worker.process_sessions import ProcessSessions, ServedSession
from envwire.server._worker.program.lending import Lending
from envwire.server._worker.program.loan import Returned
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2
from envwire.wire.encodings import zstandard
from envwire.wire.frames import Packet
from envwire.wire.local_channel import DEVICE_MOMENT, MOMENT

#: Bound once: looking up an Enum member takes 900 instructions in Python 3.11.
_CLOSED = State.CLOSED
#: The setting of a server that does not compress.
_OFF = "off"
#: Longest wait for the front's acknowledgement of a close, in seconds; it comes at once unless the front is stopped.
_NOTICE_SECONDS = 2.0
#: Seconds for which a client may leave a reply unread before its connection is closed.
SEND_SECONDS = 30.0
#: Seconds for sending last replies; less than the time that the front gives a process to exit.
_FINISH_SECONDS = 3.0


@dataclass
class DirectService:
    """Serves the clients on direct channels: at most one for each session; a new one replaces the old.

    Attributes:
        poller: The poller that watches the channels.
        sessions: The sessions of the process.
        frames: The link, over which sessions that their clients closed are reported to the front.
        serve_link: Serves frames that arrived during such a report.
        config: The server's settings.
    """

    poller: Poller
    sessions: ProcessSessions
    frames: FrameSocket
    serve_link: Callable[[], None]
    config: ServerConfig

    def __post_init__(self) -> None:
        """Binds what each request needs."""
        self._warnings, self._limit = self.sessions.warnings, self.config.max_message_bytes
        self._lingering: set[Channel] = set()
        self._lending = Lending(self.poller)

    def admit(self, number: int, use: ChannelUse, connection: socket.socket) -> None:
        """Opens a direct channel to a session.

        Args:
            number: The session's number.
            use: What its client can use. It gets a mailbox if the process holds no other session, so that the process
                need not look into many.
            connection: The connection that the front hands over.
        """
        served = self.sessions.by_number.get(number)
        if served is None:
            end_connection(connection)
            return
        session, env = served.session, served.session.hosted.env
        attaches = use.frames and session.attaches
        shared = share(self.config.shared_memory, env.observation_space) if attaches else None
        boxed = use.mailbox and session.uses_mailbox and not self.sessions.packed
        boxes = new_boxes(box_bytes(env)) if boxed else None
        channel = Channel(connection, self._limit, shared, boxes)
        channel.encoder = self._new_encoder(use, connection)
        if use.device_kind or served.device is not None:
            channel.no_device = self._share_device(served, use)
            channel.device = served.device
        channel.boxes_arrays = channel.device is None and fits_boxes(env.observation_space)
        self._open_channel(served, channel)

    def _new_encoder(self, use: ChannelUse, connection: socket.socket) -> Encoder | None:
        """Returns what encodes attachments; None if they are sent as they are."""
        if use.encode == Encode.NEVER or self.config.compression == _OFF:
            return None
        compressor = zstandard()
        if compressor is None:
            return None
        always = use.encode == Encode.IF_SMALLER
        return Encoder(compressor, connection, self._limit, always)

    def _share_device(self, served: ServedSession, use: ChannelUse) -> str:
        """Shares memory of the device that a client named; returns why it cannot be shared."""
        uuid = use.device_uuid if use.device_kind == CUDA else b""
        identity = Identity(use.device_kind, uuid)
        if served.device is not None and served.device.identity == identity:
            return ""
        served.share(None)
        if not use.device_kind:
            return ""
        try:
            env = served.session.hosted.env
            served.share(share_device(self.config.device_memory, identity, env))
        except DeviceError as error:
            return str(error)
        return ""

    def _serve(self, served: ServedSession, channel: Channel, raw: bytes) -> None:
        session, row = served.session, served.row
        self._warnings.log = session.warnings
        row.begin()
        packet = session.handle(raw, True, not channel.boxes_arrays or channel.reads_socket)
        size, beside = len(packet.message), packet.attachments
        if beside is not None:
            size += beside.length
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
            if session.statistics is not None:
                session.count()

    def _amended(self, packet: Packet) -> Packet:
        """Returns the error for a reply that is too long; adds the notice of a server that drains."""
        if packet.size > self._limit:
            packet = Packet(too_large(packet.size, self._limit))
        stops_at = self.sessions.stops_at
        return packet if stops_at is None else _with_notice(packet, stops_at)

    def _close(self, served: ServedSession, channel: Channel, packet: Packet) -> None:
        """Answers a close once the session's slot is free."""
        self.release(served)
        self.sessions.remove(served)
        self.frames.announce_closed(served.number, _NOTICE_SECONDS)
        with contextlib.suppress(ChannelError):  # the client may be gone
            channel.send(packet)
        self._linger(served, channel)
        if self.frames.waiting:  # arrived during the wait for the ACK
            self.serve_link()

    def _open_channel(self, served: ServedSession, channel: Channel) -> None:
        """Adds a channel, which replaces the session's current one."""
        self.close(served)
        try:
            self._welcome(served, channel)
        except ChannelError:
            channel.close()
            return
        served.channel = channel
        on_gpu = channel.device is not None and channel.device.identity.kind == CUDA
        self.poller.spin_up_to(DEVICE_MOMENT if on_gpu else MOMENT)
        self._watch(served, channel)
        self._lend(served, channel)

    def _welcome(self, served: ServedSession, channel: Channel) -> None:
        try:
            channel.welcome(self._limit)
        except NoDescriptorsError as error:  # maybe the environment of another session sees to that
            served.share(None)
            channel.share_nothing(str(error))
            channel.welcome(self._limit)

    def close(self, served: ServedSession) -> None:
        """Closes the channel of a session, if it has one."""
        if channel := self.release(served):
            channel.close()

    def release(self, served: ServedSession) -> Channel | None:
        """Removes and returns the channel of a session, if it has one; the caller must close it."""
        channel, served.channel = served.channel, None
        if channel is not None and not self._lending.forget(served):
            self.poller.unwatch(channel.fileno())
        return channel

    def make_way(self, served: ServedSession) -> None:
        """Prepares a session for a request that does not come from its channel."""
        channel = served.channel
        if channel is not None and channel.unsent:
            channel.keep_unsent()
        elif channel is not None and (returned := self._lending.recall(served)):
            self._take_back(served, channel, returned)

    def _linger(self, served: ServedSession, channel: Channel) -> None:
        """Closes a released channel once its last reply is sent, or `SEND_SECONDS` have passed."""
        if channel.unsent:
            self._lingering.add(channel)
            self._wait_for_reader(served, channel, [])
        else:
            channel.close()

    def finish(self) -> None:
        """Gives clients a moment to read last replies before the process exits."""
        deadline = time.monotonic() + _FINISH_SECONDS
        for channel in self._lingering:
            channel.finish(max(deadline - time.monotonic(), 0.001))

    def close_all(self) -> None:
        """Closes all channels in a copy of the process, since they belong to the original."""
        released = [self.release(served) for served in self.sessions.by_number.values()]
        for channel in (*released, *self._lingering):
            if channel is not None:
                channel.close_copy()

    def _watch(self, served: ServedSession, channel: Channel) -> None:
        lends = self._lending.may_lend(served)
        serve = partial(self._ready_then_lend if lends else self._ready, served, channel)
        self.poller.watch(channel.fileno(), serve, channel.mailbox)

    def _ready_then_lend(
        self, served: ServedSession, channel: Channel, requests: list[bytes] | None = None
    ) -> None:
        self._ready(served, channel, requests)
        if served.channel is channel:
            self._lend(served, channel)

    def _lend(self, served: ServedSession, channel: Channel) -> None:
        """Lends a connection to the session's program, unless its requests have to pass through this process."""
        watched = time.monotonic() < served.watched_until
        if not watched and channel.device is None and self.sessions.stops_at is None:
            self._lending.lend(served, channel, partial(self._given_back, served, channel))

    def _given_back(self, served: ServedSession, channel: Channel, returned: Returned) -> None:
        self._take_back(served, channel, returned)
        if served.channel is channel:
            self._lend(served, channel)

    def _take_back(self, served: ServedSession, channel: Channel, returned: Returned) -> None:
        """Goes on with a connection that was lent, with what its program left."""
        self._watch(served, channel)
        try:
            requests = channel.take_back(returned)
        except ChannelError:
            self._lose(served, channel)
            return
        serve = self._wait_for_reader if channel.unsent else self._ready
        serve(served, channel, requests)

    def _ready(
        self, served: ServedSession, channel: Channel, requests: list[bytes] | None = None
    ) -> None:
        """Serves the requests that have arrived while the client reads the replies. Those after a close are dropped.

        Args:
            served: The session.
            channel: Its channel.
            requests: Requests that were received earlier; by default those that the socket or the mailbox has now.
        """
        try:
            requests = channel.receive() if requests is None else requests
            while requests and served.channel is channel:
                self._serve(served, channel, requests.pop(0))
                if channel.unsent and served.channel is channel:
                    self._wait_for_reader(served, channel, requests)
                    return
        except ChannelError:
            self._lose(served, channel)

    def _wait_for_reader(
        self, served: ServedSession, channel: Channel, requests: list[bytes]
    ) -> None:
        """Stops reading from a client until it has read the reply; closes its connection if that takes too long."""
        self.poller.watch_writable(
            channel.fileno(),
            partial(self._flush, served, channel, requests),
            SEND_SECONDS,
            partial(self._lose, served, channel),
        )

    def _flush(self, served: ServedSession, channel: Channel, requests: list[bytes]) -> None:
        try:
            channel.flush()
            if channel in self._lingering:  # its time is not extended
                if not channel.unsent:
                    self._lose(served, channel)
            elif channel.unsent:
                self._wait_for_reader(served, channel, requests)
            else:
                self._watch(served, channel)
                self._ready(served, channel, requests)
        except ChannelError:
            self._lose(served, channel)

    def _lose(self, served: ServedSession, channel: Channel) -> None:
        if channel in self._lingering:
            self._lingering.remove(channel)
            self.poller.unwatch(channel.fileno())
            channel.close()
        elif served.channel is channel:
            self.close(served)


def _with_notice(packet: Packet, stops_at: float) -> Packet:
    """Returns a reply with the notice that the server stops at `stops_at`."""
    notice = draining_notice(stops_at - time.monotonic())
    beside = environment_pb2.InteractResponse(notices=[notice]).SerializeToString()
    return Packet(packet.message + beside, packet.attachments)
