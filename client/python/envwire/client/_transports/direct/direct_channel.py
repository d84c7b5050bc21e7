"""The client's end of a direct channel: one request out, one reply in, large arrays received without a copy.

A step costs two system calls here, one to send and one to wait and receive. The length of a reply is guessed from the
last one: what was guessed right arrives in its place without a copy.
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
#: Whatever a server's limit is, its errors may be as long as this.
_LEAST_LIMIT = 2**20
_FOREVER = 1e9
_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


class Channel:
    """One plain connection.

    Args:
        sock: A connected socket; the channel owns it.

    Attributes:
        buffer: Where the attachments of the next reply shall go if they are just as long; only for that one.
    """

    #: Waits for all that is asked for.
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
        _channels.add(self)
        weakref.finalize(self, sock.close).atexit = False

    @property
    def connection(self) -> socket.socket:
        """The connection, for an event loop that drives it."""
        return self._socket

    def check_size(self, length: int, where: int, attached: int) -> None:
        """Checks the header of a frame.

        Raises:
            ConnectionResetError: It is larger than any that the server sends.
        """
        if length + attached > self._limit:
            raise ConnectionResetError(f"not a frame: {length} + {attached} bytes at {where}")

    def fileno(self) -> int:
        """Returns the descriptor to wait on."""
        return self._socket.fileno()

    def greet(self, hello: bytes, timeout: float) -> direct_pb2.HelloResponse:
        """Begins the conversation and returns the answer to the hello, taking over memory that comes with it.

        Raises:
            OSError: The connection broke, or no answer came in time.
        """
        self._socket.sendall(PREAMBLE)
        self.send(hello, timeout)
        data, descriptors = self._receive_welcome()
        try:
            message = self._complete(self._some(data)).message
            response = direct_pb2.HelloResponse.FromString(message)
            self._limit = max(_LEAST_LIMIT, response.welcome.max_message_bytes)
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
        # The kernel watches the time: Python's own timeouts would cost a system call more for each message.
        self._timeout = timeout
        seconds, rest = divmod(min(timeout, _FOREVER), 1)
        span = struct.pack("ll", int(seconds), max(1, int(rest * 1e6)))  # all 0 would be no limit
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, span)

    def receive(self) -> Reply:
        """Waits for a reply.

        Raises:
            BlockingIOError: None came in time.
            OSError: The connection broke.
        """
        self._spin.look(self._poll.poll)
        try:
            if self._attached:
                return self._receive_like_the_last()
            return self._complete(self._some(self._socket.recv(_SMALL_BYTES)))
        finally:
            self._spin.woke()
            self.buffer = None

    def _receive_like_the_last(self) -> Reply:
        """Receives into the places that a reply like the last one would take."""
        head, area = self._head, self._room(self._attached)
        received = self._socket.recvmsg_into([head, area.data])[0]
        if received < len(head):
            return self._complete(self._some(bytes(head[:received])))
        length, where, attached = HEADER.unpack_from(head)
        if HEADER_BYTES + length != len(head) or attached != len(area) or where:
            return self._complete(bytes(head) + area[: received - len(head)].tobytes())
        self._fill(area, received - len(head))
        return Reply(bytes(memoryview(head)[HEADER_BYTES:]), area)

    def _complete(self, data: bytes) -> Reply:
        """Receives the rest of a reply that begins with `data`."""
        while len(data) < HEADER_BYTES:
            data += self._some(self._socket.recv(HEADER_BYTES - len(data)))
        length, where, attached = HEADER.unpack_from(data)
        end = HEADER_BYTES + length
        if length + attached > self._limit or len(data) > end + (0 if where else attached):
            raise ConnectionResetError(f"not a frame: {length} + {attached} bytes at {where}")
        if len(data) < end:
            data += self._exactly(end - len(data)).tobytes()
        self._attached = 0 if where else attached
        if where:
            return Reply(data[HEADER_BYTES:end], self.in_memory(where, attached))
        if not attached:
            return Reply(data[HEADER_BYTES:end])
        self._head = bytearray(end)
        area = self._room(attached)
        early = len(data) - end
        area[:early] = np.frombuffer(data, np.uint8, early, end)
        self._fill(area, early)
        return Reply(data[HEADER_BYTES:end], area)

    def _room(self, length: int) -> Area:
        """Returns where attachments of this length go."""
        buffer = self.buffer
        return (
            buffer if buffer is not None and len(buffer) == length else np.empty(length, np.uint8)
        )

    def in_memory(self, where: int, length: int) -> Area:
        """Returns the attachments in a slot of the shared memory."""
        if self._shared is None:
            raise ConnectionResetError("the server refers to memory that it does not share")
        return self._shared.area(where, length)

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

    def _some(self, data: bytes) -> bytes:
        if not data:
            raise ConnectionResetError("the server closed the connection")
        return data

    def shut_down(self) -> None:
        """Ends the connection for a thread that waits for it; `close` would leave that one waiting."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends the connection; arrays keep the shared memory that they are in. Closing twice is harmless."""
        self._socket.close()
        self._shared = None


class TimedChannel(Channel):
    """One connection that Python times: with TLS, and where the kernel can neither time nor scatter."""

    _flags = 0

    def _receive_welcome(self) -> tuple[bytes, list[int]]:
        return self._socket.recv(_SMALL_BYTES), []

    def _set_timeout(self, timeout: float) -> None:
        self._timeout = timeout
        self._socket.settimeout(min(timeout, _FOREVER))

    def _receive_like_the_last(self) -> Reply:
        return self._complete(self._some(self._socket.recv(_SMALL_BYTES)))


def _after_fork() -> None:
    """Leaves the parent's connections to the parent: one that the child holds would seem alive after its death."""
    for channel in list(_channels):
        channel.close()


after_fork_in_child(_after_fork)
