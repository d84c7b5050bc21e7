"""Receives the replies of a direct channel, large arrays without a copy; for blocking and asyncio clients."""

from __future__ import annotations

import socket

import numpy as np

from envwire.client._transports.direct.shared_memory import SharedFrames
from envwire.wire.frames import HEADER, HEADER_BYTES, Area, Reply
from envwire.wire.mailbox import WAKE, Mailbox

#: Small replies arrive in one piece: one call receives the header and everything after it.
SMALL_BYTES = 4096
#: Replies up to this size are accepted whatever the server's limit, so that its errors can be read.
LEAST_LIMIT = 2**20


class ReplyReader:
    """Reads one reply at a time. A reply as long as the last one is received directly into its final buffers.

    Args:
        connection: A connected socket.

    Attributes:
        connection: The socket.
        buffer: Memory for the attachments of the next reply, used if it is exactly as long as they are.
    """

    #: Flags of the calls that receive the rest of a reply: the kernel waits until the whole buffer is filled.
    _rest_flags: int = socket.MSG_WAITALL
    #: Whether one call can receive into several buffers.
    _scatters = True

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.buffer: Area | None = None
        self._limit = LEAST_LIMIT
        self._shared: SharedFrames | None = None
        self._mailbox: Mailbox | None = None
        #: Length and header of the last reply that came whole and without attachments: the next one's, most probably.
        #: One value, so that an interrupt leaves it whole.
        self._last = -1, b""
        #: The first bytes of a reply whose header is incomplete.
        self._early: bytes = b""
        #: Header and message of the reply, or the last one.
        self._head = bytearray()
        self._area: Area | None = None
        self._slot = self._attached = 0
        #: Bytes of the attachments that followed the last reply, which the next one probably has too.
        self._expected = 0
        #: Buffers for the missing parts of the reply; empty until its header has arrived.
        self._rest: list[memoryview] = []

    def read_reply(self, flags: int = 0) -> Reply:
        """Receives a reply.

        Args:
            flags: MSG_DONTWAIT to receive only what has arrived; the next call continues.

        Raises:
            BlockingIOError: The reply is not complete, or did not arrive in time.
            OSError: The connection broke, or the data is not a reply.
        """
        reply, mailbox, received = None, self._mailbox, False
        while reply is None:
            if self._rest:
                reply = self._read_rest(flags or self._rest_flags)
            elif mailbox is not None and (mailbox.arrived() or mailbox.sleep()):
                reply = self._begun(mailbox.take())
            elif received and (flags or self._overdue()):
                raise BlockingIOError("no reply yet")  # but wakes, maybe without end
            elif self._expected and not self._early:
                reply, received = self._read_expected(flags), True
            else:
                reply, received = self._begun(self.connection.recv(SMALL_BYTES, flags)), True
        return reply

    def _begun(self, data: bytes) -> Reply | None:
        """Takes the first bytes of a reply (see `_parse`), most probably one like the last."""
        length, header = self._last
        if len(data) == length and data.startswith(header) and not self._early:
            return Reply(data[HEADER_BYTES:])
        return self._parse(data)

    def _overdue(self) -> bool:
        """Returns whether the time to wait for the reply has passed."""
        return False

    def _parse(self, data: bytes) -> Reply | None:
        """Takes the first bytes of a reply; returns it if they are all, else allocates its buffers."""
        if not data:
            raise ConnectionResetError("the server closed the connection")
        if self._early:
            data, self._early = self._early + data, b""
        if self._mailbox is not None:
            data = _without_wakes(data)
        if len(data) < HEADER_BYTES:
            self._early = data
            return None
        length, slot, attached = HEADER.unpack_from(data)
        end = HEADER_BYTES + length
        following = 0 if slot else attached
        self._expected = following if self._scatters else 0
        if length + attached > self._limit or len(data) > end + following:
            raise ConnectionResetError(f"not a frame: {length} + {attached} bytes at {slot}")
        if len(data) == end and not following:
            if not slot:
                self._last = end, data[:HEADER_BYTES]
            return Reply(data[HEADER_BYTES:], self._in_memory(slot, attached) if slot else None)
        self._slot, self._attached = slot, attached
        self._head = bytearray(end)
        self._head[: len(data)] = data[:end]
        if following:
            self._area = self._buffer_of(following)
            early = max(0, len(data) - end)
            self._area[:early] = np.frombuffer(data, np.uint8, early, len(data) - early)
        return self._await_rest(len(data))

    def _read_expected(self, flags: int) -> Reply | None:
        """Receives into buffers of the last reply's sizes; copies what it receives if the sizes differ."""
        head, area = self._head, self._buffer_of(self._expected)
        received = self.connection.recvmsg_into([head, area.data], 0, flags)[0]
        if received >= HEADER_BYTES:
            length, slot, attached = HEADER.unpack_from(head)
            if HEADER_BYTES + length == len(head) and attached == len(area) and not slot:
                self._area = area
                complete = received == len(head) + len(area)
                return self._whole() if complete else self._await_rest(received)
        return self._parse(bytes(head[:received]) + area[: max(0, received - len(head))].tobytes())

    def _await_rest(self, received: int) -> Reply | None:
        """Notes what is missing after the first bytes of a reply; returns the reply if nothing is."""
        rest = [memoryview(self._head)[received:]]
        if self._area is not None:
            rest.append(self._area.data[max(0, received - len(self._head)) :])
        self._rest = [part for part in rest if part]
        return None if self._rest else self._whole()

    def _read_rest(self, flags: int) -> Reply | None:
        part = self._rest[0]
        received = self.connection.recv_into(part, 0, flags)
        if not received:
            raise ConnectionResetError("the connection ended inside a frame")
        if received < len(part):
            self._rest[0] = part[received:]
            return None
        del self._rest[0]
        return None if self._rest else self._whole()

    def _whole(self) -> Reply:
        area, self._area = self._area, None
        if self._slot:
            area = self._in_memory(self._slot, self._attached)
        return Reply(bytes(memoryview(self._head)[HEADER_BYTES:]), area)

    def _buffer_of(self, length: int) -> Area:
        """Returns memory for attachments of this length."""
        buffer = self.buffer
        if buffer is not None and len(buffer) == length:
            return buffer
        return np.empty(length, np.uint8)

    def _in_memory(self, slot: int, length: int) -> Area:
        """Returns the attachments in a slot of the shared memory."""
        if self._shared is None:
            raise ConnectionResetError("the server refers to memory that it does not share")
        return self._shared.area(slot, length)


def _without_wakes(data: bytes) -> bytes:
    while data.startswith(WAKE):
        data = data[HEADER_BYTES:]
    return data
