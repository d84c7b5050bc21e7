"""The client's end of a direct channel: sends one request, receives one reply, large arrays without a copy.

A step costs two system calls: one to send, and one to wait and receive. A reply that is as long as the last one is
received directly into its final buffers.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import weakref

import numpy as np
from google.protobuf.message import DecodeError

from envwire.client._transports.direct.shared_memory import SharedFrames
from envwire.client._transports.portability import POLLIN, after_fork_in_child, new_poll
from envwire.v1 import direct_pb2
from envwire.wire.adaptive_spin import AdaptiveSpin
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE, Area, Reply

_SMALL_BYTES = 4096
#: Replies up to this size are accepted whatever the server's limit, so that its errors can be read.
_LEAST_LIMIT = 2**20
_FOREVER = 1e9
_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


class Channel:
    """One plain connection.

    Args:
        sock: A connected socket; the channel owns it.

    Attributes:
        buffer: Memory for the attachments of the next reply, used if it is exactly as long as they are.
        max_request_bytes: The longest request that the server accepts; known once it has answered the hello.
    """

    #: Flags of `recv_into`: the kernel waits until the whole buffer is filled.
    _flags: int = socket.MSG_WAITALL

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(True)
        self._socket = sock
        self._timeout = 0.0
        self._spin = AdaptiveSpin()
        self._poll = new_poll()
        self._poll.register(sock.fileno(), POLLIN)
        self._limit = _LEAST_LIMIT
        self._head = bytearray()
        self._attached = 0
        self._shared: SharedFrames | None = None
        self.buffer: Area | None = None
        self.max_request_bytes = 0
        _channels.add(self)
        weakref.finalize(self, sock.close).atexit = False

    @property
    def connection(self) -> socket.socket:
        """The socket, for an event loop to use."""
        return self._socket

    def check_size(self, length: int, slot: int, attached: int) -> None:
        """Checks the header of a frame.

        Raises:
            ConnectionResetError: The frame would be larger than the server's limit.
        """
        if length + attached > self._limit:
            raise ConnectionResetError(f"not a frame: {length} + {attached} bytes at {slot}")

    def fileno(self) -> int:
        """Returns the descriptor to wait on."""
        return self._socket.fileno()

    def greet(self, hello: bytes, timeout: float) -> direct_pb2.HelloResponse:
        """Sends the hello and returns its answer; maps the shared memory that comes with it.

        Raises:
            OSError: The connection broke, or no answer came in time.
        """
        self._socket.sendall(PREAMBLE)
        self.send(hello, timeout)
        data, descriptors = self._receive_welcome()
        try:
            message = self._complete(data).message
            response = direct_pb2.HelloResponse.FromString(message)
            self.max_request_bytes = response.welcome.max_message_bytes
            self._limit = max(_LEAST_LIMIT, self.max_request_bytes)
            if descriptors and response.welcome.HasField("shared_memory"):
                self._shared = SharedFrames(descriptors[0], response.welcome.shared_memory)
        except DecodeError as error:
            raise ConnectionResetError(f"not an answer to a hello: {error}") from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return response

    def _receive_welcome(self) -> tuple[bytes, list[int]]:
        data, descriptors, _, _ = socket.recv_fds(self._socket, _SMALL_BYTES, 1)
        return data, descriptors

    def send(self, request: bytes, timeout: float) -> None:
        """Sends a request.

        Args:
            request: The request.
            timeout: Seconds to wait for the reply.

        Raises:
            OSError: The connection broke.
        """
        if timeout != self._timeout:
            self._set_timeout(timeout)
        self._socket.sendall(HEADER.pack(len(request), 0, 0) + request)

    def _set_timeout(self, timeout: float) -> None:
        # The kernel enforces the timeout: Python's would cost one more system call per message.
        self._timeout = timeout
        seconds, rest = divmod(min(timeout, _FOREVER), 1)
        span = struct.pack("ll", int(seconds), max(1, int(rest * 1e6)))  # all 0 would be no limit
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, span)

    def receive(self) -> Reply:
        """Waits for a reply.

        Raises:
            BlockingIOError: None arrived in time.
            OSError: The connection broke.
        """
        self._spin.poll(self._poll.poll)
        try:
            if self._attached:
                return self._receive_as_expected()
            return self._complete(self._socket.recv(_SMALL_BYTES))
        finally:
            self._spin.woke()
            self.buffer = None

    def _receive_as_expected(self) -> Reply:
        """Receives a reply into buffers of the last reply's sizes; copies it if its sizes differ."""
        head, area = self._head, self._buffer_of(self._attached)
        received = self._socket.recvmsg_into([head, area.data])[0]
        if received < len(head):
            return self._complete(bytes(head[:received]))
        length, slot, attached = HEADER.unpack_from(head)
        if HEADER_BYTES + length != len(head) or attached != len(area) or slot:
            return self._complete(bytes(head) + area[: received - len(head)].tobytes())
        self._fill(area, received - len(head))
        return Reply(bytes(memoryview(head)[HEADER_BYTES:]), area)

    def _complete(self, data: bytes) -> Reply:
        """Receives the rest of a reply that begins with `data`."""
        while len(data) < HEADER_BYTES:
            more = self._socket.recv(HEADER_BYTES - len(data))
            if not more:
                raise ConnectionResetError("the server closed the connection")
            data += more
        length, slot, attached = HEADER.unpack_from(data)
        end = HEADER_BYTES + length
        if length + attached > self._limit or len(data) > end + (0 if slot else attached):
            raise ConnectionResetError(f"not a frame: {length} + {attached} bytes at {slot}")
        if len(data) < end:
            data += self._exactly(end - len(data)).tobytes()
        self._attached = 0 if slot else attached
        if slot:
            return Reply(data[HEADER_BYTES:end], self.in_memory(slot, attached))
        if not attached:
            return Reply(data[HEADER_BYTES:end])
        self._head = bytearray(end)
        area = self._buffer_of(attached)
        early = len(data) - end
        area[:early] = np.frombuffer(data, np.uint8, early, end)
        self._fill(area, early)
        return Reply(data[HEADER_BYTES:end], area)

    def _buffer_of(self, length: int) -> Area:
        """Returns memory for attachments of this length."""
        buffer = self.buffer
        return (
            buffer if buffer is not None and len(buffer) == length else np.empty(length, np.uint8)
        )

    def in_memory(self, slot: int, length: int) -> Area:
        """Returns the attachments in a slot of the shared memory."""
        if self._shared is None:
            raise ConnectionResetError("the server refers to memory that it does not share")
        return self._shared.area(slot, length)

    def _exactly(self, length: int) -> Area:
        area = np.empty(length, np.uint8)
        self._fill(area, 0)
        return area

    def _fill(self, area: Area, filled: int) -> None:
        view = area.data
        while filled < len(view):
            received = self._socket.recv_into(view[filled:], 0, self._flags)
            if not received:
                raise ConnectionResetError("the connection ended inside a frame")
            filled += received

    def shut_down(self) -> None:
        """Shuts the connection down, which wakes a thread that waits for a reply; `close` would not wake it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the connection; arrays in shared memory keep it mapped. Closing twice is harmless."""
        self._socket.close()
        self._shared = None


class TimedChannel(Channel):
    """A connection with Python's own timeouts: for TLS, and for systems without SO_RCVTIMEO or `recvmsg_into`."""

    _flags = 0

    def _receive_welcome(self) -> tuple[bytes, list[int]]:
        return self._socket.recv(_SMALL_BYTES), []

    def _set_timeout(self, timeout: float) -> None:
        self._timeout = timeout
        self._socket.settimeout(min(timeout, _FOREVER))

    def _receive_as_expected(self) -> Reply:
        return self._complete(self._socket.recv(_SMALL_BYTES))


def _after_fork() -> None:
    """Closes the child's copies of the parent's connections, so that they end when the parent dies."""
    for channel in list(_channels):
        channel.close()


after_fork_in_child(_after_fork)
