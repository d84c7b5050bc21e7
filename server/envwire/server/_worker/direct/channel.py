"""The session process's end of a direct channel: reads requests, writes replies and their attachments.

It never blocks: bytes that the socket does not accept are sent later. When a channel breaks, the session and its kept
reply remain, and the client opens a new channel.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator

from envwire.server._ipc.message_slots import Buffer, send_some
from envwire.server._worker.direct.encoder import Encoder
from envwire.server._worker.direct.shared_memory import Boxes, SharedDevice, SharedSlots
from envwire.server._worker.program.loan import Lendable, Returned
from envwire.v1 import direct_pb2
from envwire.wire.encodings import ENCODINGS
from envwire.wire.frames import HEADER, HEADER_BYTES, Packet

_RECEIVE_BYTES = 65536
#: As a plain number, which is converted sooner. The socket does not block either, but the front has it too.
_AT_ONCE = int(socket.MSG_DONTWAIT)


class ChannelError(Exception):
    """The connection is gone, or the received bytes are not a frame."""


class NoDescriptorsError(ChannelError):
    """No memory can be shared: as many descriptors are on the way between processes of this user as may be."""


def end_connection(connection: socket.socket) -> None:
    """Shuts down a connection for its client, even though the front holds another descriptor of it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


class Channel:
    """One client's connection.

    Args:
        sock: The socket; the channel owns it.
        limit: Largest request, in bytes.
        shared: Memory for large replies; None for none.
        boxes: Memory of a mailbox; None for none.

    Attributes:
        unsent: The part of the last reply that was not sent yet.
        mailbox: The mailbox, if there is one.
        device: The memory of a device that the session shares; None for none.
        encoder: Encodes attachments for a client elsewhere; None to send them as they are.
        no_device: Why there is none, although the client named a device.
        boxes_arrays: Whether large arrays of steps fit into the mailbox, inside of the message.
    """

    device: SharedDevice | None = None
    encoder: Encoder | None = None
    no_device = ""
    boxes_arrays = False

    def __init__(
        self,
        sock: socket.socket,
        limit: int,
        shared: SharedSlots | None = None,
        boxes: Boxes | None = None,
    ) -> None:
        sock.setblocking(False)
        self._socket = sock
        self.unsent: list[Buffer] = []
        self._limit = limit
        self._shared = shared
        self._boxes = boxes
        self.mailbox = None if boxes is None else boxes.mailbox(self._send)
        self._buffer = bytearray()
        #: Length and header of the last request that came whole: the next one's, most probably.
        self._last = -1, b""

    def fileno(self) -> int:
        """Returns the descriptor to wait on."""
        return self._socket.fileno()

    @property
    def reads_socket(self) -> bool:
        """Whether the client waits for the next reply on the socket."""
        return self.mailbox is None or self.mailbox.unread

    def receive(self) -> list[bytes]:
        """Reads from a readable socket and returns the complete requests, usually one.

        Raises:
            ChannelError: The connection ended or broke the contract.
        """
        mailbox = self.mailbox
        try:
            # Even if part of a frame has come on the socket: the client puts whole frames in the mailbox.
            boxed = b"" if mailbox is None else mailbox.take()
            data = boxed or self._socket.recv(_RECEIVE_BYTES, _AT_ONCE)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ChannelError(str(error)) from error
        if boxed or not self._buffer:
            length, header = self._last
            if len(data) == length and data.startswith(header):  # one frame that resembles the last
                return [data[HEADER_BYTES:]]
            if len(data) > HEADER_BYTES and len(data) == self._end(data, 0):
                self._last = len(data), data[:HEADER_BYTES]
                return [data[HEADER_BYTES:]]
        if boxed:
            raise ChannelError("a frame that changed while it was taken out of the mailbox")
        if not data:
            raise ChannelError("the client closed the connection")
        self._buffer += data
        return list(self._cut())

    def _end(self, data: bytes | bytearray, start: int) -> int:
        """Returns the end of the request at `start`; an index past the received bytes if the header is incomplete."""
        if len(data) - start < HEADER_BYTES:
            return len(data) + 1
        length, slot, attached = HEADER.unpack_from(data, start)
        if length > self._limit or slot or attached:
            raise ChannelError(f"a request of {length} + {attached} bytes at {slot}")
        return start + HEADER_BYTES + int(length)

    def _cut(self) -> Iterator[bytes]:
        buffer, start = self._buffer, 0
        while (end := self._end(buffer, start)) <= len(buffer):
            request = bytes(memoryview(buffer)[start + HEADER_BYTES : end])
            start = end
            if request or self.mailbox is None:  # else it only wakes this end
                yield request
        del buffer[:start]

    def lendable(self) -> Lendable | None:
        """Returns what another process needs to serve the connection; None while something waits to be served here."""
        if self._buffer or self.unsent:
            return None
        if self.mailbox is None or self._boxes is None:
            return Lendable([self.fileno()], self._limit)
        if self.mailbox.sleep():  # a request has come
            return None
        descriptors = [self.fileno(), self._boxes.descriptor]
        return Lendable(descriptors, self._limit, self._boxes.size, *self.mailbox.numbers)

    def take_back(self, returned: Returned) -> list[bytes]:
        """Goes on with a connection that another process served; returns the requests that it left.

        Raises:
            ChannelError: They are none, or the client is gone.
        """
        if not returned.is_open:
            raise ChannelError("the client closed the connection")
        if self.mailbox is not None:
            self.mailbox.resume(returned.taken, returned.put_in)
        self.unsent = [returned.unsent] if returned.unsent else []
        self._buffer += returned.rest
        return list(self._cut())

    def send(self, packet: Packet) -> None:
        """Sends as much of a reply as the socket accepts; `flush` sends the rest.

        Raises:
            ChannelError: The connection is gone.
        """
        message, attachments = packet.message, packet.attachments
        if attachments is None or not attachments.length:
            frame = HEADER.pack(len(message), 0, 0) + message
        elif self._shared is not None and (slot := self._shared.put(attachments)):
            frame = HEADER.pack(len(message), slot, attachments.length) + message
        elif self.encoder is not None and (encoded := self.encoder.encode(attachments)):
            location, data = encoded
            frame = HEADER.pack(len(message), location, len(data)) + message + data
        else:
            head = HEADER.pack(len(message), 0, attachments.length) + message
            self.unsent = [head, *attachments.buffers]
            self.flush()
            return
        if self.mailbox is None or not self.mailbox.put(frame):
            self._send(frame)

    def _send(self, data: bytes) -> None:
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise ChannelError(str(error)) from error
        if sent < len(data):
            self.unsent = [memoryview(data)[sent:]]

    def flush(self) -> None:
        """Sends more of the unsent part, without blocking.

        Raises:
            ChannelError: The connection is gone.
        """
        try:
            self.unsent = send_some(self._socket, self.unsent)
        except OSError as error:
            raise ChannelError(str(error)) from error

    def keep_unsent(self) -> None:
        """Copies the unsent part, which is in the environment's own arrays and may change in the next step."""
        if self.unsent:
            self.unsent = [b"".join(self.unsent)]

    def finish(self, seconds: float) -> None:
        """Sends the unsent part within a time limit, and closes."""
        self._socket.settimeout(seconds)
        with contextlib.suppress(OSError):  # in one call, to which the limit applies
            self._socket.sendall(b"".join(self.unsent))
        self.close()

    def welcome(self, limit: int) -> None:
        """Answers the hello and hands over the shared memory.

        Raises:
            ChannelError: The connection is gone.
            NoDescriptorsError: Nothing was sent; `share_nothing` helps.
        """
        welcome = direct_pb2.Welcome(max_message_bytes=limit)
        descriptors: list[int] = []
        if self._shared is not None:
            welcome.shared_memory.CopyFrom(self._shared.layout)
            descriptors.append(self._shared.descriptor)
        if self._boxes is not None:
            welcome.mailbox.box_bytes = self._boxes.size
            descriptors.append(self._boxes.descriptor)
        if self.encoder is not None:
            welcome.encodings.extend(ENCODINGS)
        welcome.no_device_memory = self.no_device
        if self.device is not None:
            descriptors.append(self.device.describe(welcome))
        message = direct_pb2.HelloResponse(welcome=welcome).SerializeToString()
        frame = HEADER.pack(len(message), 0, 0) + message
        try:
            socket.send_fds(self._socket, [frame], descriptors)
        except OSError as error:
            kind = NoDescriptorsError if error.errno == errno.ETOOMANYREFS else ChannelError
            raise kind(str(error)) from error

    def share_nothing(self, why: str) -> None:
        """Does without shared memory: all frames and arrays go over the socket."""
        self._close_memory()
        self.device, self.no_device = None, why

    def close(self) -> None:
        """Closes the connection; the client keeps the shared memory for as long as it uses it."""
        end_connection(self._socket)
        self.close_copy()

    def close_copy(self) -> None:
        """Closes a forked process's copy of the connection, which stays open in the original process."""
        self._socket.close()
        self._close_memory()
        self.device = self.encoder = None

    def _close_memory(self) -> None:
        if self._boxes is not None:
            self._boxes.close_descriptor()
        # The mailbox and this channel refer to each other: they are not left to the collector.
        self.mailbox = self._boxes = None
        if self._shared is not None:
            self._shared.close()
            self._shared = None
