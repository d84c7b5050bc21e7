"""The client's end of a direct channel: sends one request, receives one reply.

A step costs two system calls: one to send, and one to wait and receive.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import weakref
from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial
from time import perf_counter

from google.protobuf.message import DecodeError

from envwire.client._transports.direct.loop_sockets import unwatch
from envwire.client._transports.direct.reply_reader import LEAST_LIMIT, SMALL_BYTES, ReplyReader
from envwire.client._transports.direct.shared_memory import SharedFrames, map_mailbox
from envwire.client._transports.portability import POLLIN, after_fork_in_child, new_poll
from envwire.v1 import direct_pb2
from envwire.wire.adaptive_spin import AdaptiveSpin
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE, Reply
from envwire.wire.mailbox import WAKE, Mailbox

_FOREVER = 1e9
_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


class Channel(ReplyReader):
    """One plain connection.

    Args:
        sock: A connected socket; the channel owns it.

    Attributes:
        connection, buffer: See `ReplyReader`.
        max_request_bytes: The longest request that the server accepts; known once it has answered the hello.
        loop: The event loop that watches it, if any.
    """

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        sock.setblocking(True)
        self._timeout = 0.0
        self._spin = AdaptiveSpin()
        self._poll = new_poll()
        self._poll.register(sock.fileno(), POLLIN)
        self._look: Callable[[int], object] = self._poll.poll
        self.max_request_bytes = 0
        self.loop: AbstractEventLoop | None = None
        _channels.add(self)
        weakref.finalize(self, sock.close).atexit = False

    def fileno(self) -> int:
        """Returns the descriptor to wait on."""
        return self.connection.fileno()

    def greet(self, hello: bytes, timeout: float) -> direct_pb2.HelloResponse:
        """Sends the hello and returns its answer; maps the shared memory that comes with it.

        Raises:
            OSError: The connection broke, or no answer came in time.
        """
        self._spin.begin()
        self.connection.sendall(PREAMBLE)
        self.send(hello, timeout)
        data, descriptors = self._receive_welcome()
        try:
            reply = self._parse(data) or self.read_reply()
            response = direct_pb2.HelloResponse.FromString(reply.message)
            self.max_request_bytes = response.welcome.max_message_bytes
            self._limit = max(LEAST_LIMIT, self.max_request_bytes)
            self._map(response.welcome, descriptors)
        except DecodeError as error:
            raise ConnectionResetError(f"not an answer to a hello: {error}") from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return response

    def _receive_welcome(self) -> tuple[bytes, list[int]]:
        data, descriptors, _, _ = socket.recv_fds(self.connection, SMALL_BYTES, 2)
        return data, descriptors

    def _map(self, welcome: direct_pb2.Welcome, descriptors: list[int]) -> None:
        """Maps the memory that came with the welcome; none comes through a relay."""
        coming = iter(descriptors)
        if welcome.HasField("shared_memory") and (descriptor := next(coming, None)) is not None:
            self._shared = SharedFrames(descriptor, welcome.shared_memory)
        if welcome.HasField("mailbox") and (descriptor := next(coming, None)) is not None:
            self._mailbox = map_mailbox(
                descriptor, welcome.mailbox, partial(_wake, self.connection)
            )
            self._look = partial(_look, self._mailbox, self._poll.poll)

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
        mailbox, frame = self._mailbox, HEADER.pack(len(request), 0, 0) + request
        if mailbox is not None and mailbox.asleep and self._spin.short:
            mailbox.look()  # now, since the reply may come before the first look of the wait
        if mailbox is None or not mailbox.put(frame):
            self.connection.sendall(frame)

    def put(self, frame: bytes) -> bool:
        """Puts a frame into the mailbox; returns False if it has to be sent on the socket."""
        return self._mailbox is not None and self._mailbox.put(frame)

    def _set_timeout(self, timeout: float) -> None:
        # The kernel enforces the timeout: Python's would cost one more system call per message.
        self._timeout = timeout
        seconds, rest = divmod(min(timeout, _FOREVER), 1)
        span = struct.pack("ll", int(seconds), max(1, int(rest * 1e6)))  # all 0 would be no limit
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self.connection.setsockopt(socket.SOL_SOCKET, option, span)

    def receive(self) -> Reply:
        """Waits for a reply.

        Raises:
            BlockingIOError: None arrived in time.
            OSError: The connection broke.
        """
        slept = not self._spin.poll(self._look)
        try:
            return self.read_reply()
        finally:
            if slept:
                self._spin.woke()
            self.buffer = None

    def _overdue(self) -> bool:
        return perf_counter() - self._spin.begun > self._timeout

    def look(self) -> bool:
        """Returns whether a frame is in the mailbox (see `Mailbox.look`)."""
        return self._mailbox is not None and self._mailbox.look()

    def sleep(self) -> bool:
        """Has the server send its replies on the socket; returns whether one is in the mailbox."""
        return self._mailbox is not None and self._mailbox.sleep()

    def skip_wake(self) -> bool:
        """Receives what arrived while no reply is awaited; returns whether it is only a wake that came late."""
        try:
            data = self.connection.recv(HEADER_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return data == WAKE and self._mailbox is not None

    def shut_down(self) -> None:
        """Shuts the connection down, which wakes a thread that waits for a reply; `close` would not wake it."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the connection; arrays in shared memory keep it mapped. Closing twice is harmless.

        An event loop that still watches it, because its environment was dropped, leaves it first. Otherwise it would go
        on watching the descriptor's number, and not notice another connection that gets it.
        """
        loop, self.loop = self.loop, None
        if loop is not None and loop.is_running():
            loop.call_soon_threadsafe(self._leave, loop)
        else:
            self._leave(loop)

    def _leave(self, loop: AbstractEventLoop | None) -> None:
        if loop is not None and self.fileno() >= 0:
            unwatch(loop, self.fileno())
        self.disconnect()

    def disconnect(self) -> None:
        """Closes the connection, even if an event loop watches it."""
        self.connection.close()
        self._shared = self._mailbox = None
        self._look = self._poll.poll


def open_channels() -> int:
    """Returns how many channels this process has."""
    return len(_channels)


def _wake(connection: socket.socket, wake: bytes) -> None:
    # If there is no room for it, the server has bytes to read, and is awake.
    with contextlib.suppress(BlockingIOError):
        connection.send(wake, socket.MSG_DONTWAIT)


def _look(mailbox: Mailbox, poll: Callable[[int], object], timeout: int) -> object:
    return mailbox.look() or poll(timeout)


class TimedChannel(Channel):
    """A connection with Python's own timeouts: for TLS, and for systems without SO_RCVTIMEO or `recvmsg_into`."""

    _rest_flags = 0
    _scatters = False

    def _receive_welcome(self) -> tuple[bytes, list[int]]:
        return self.connection.recv(SMALL_BYTES), []

    def _set_timeout(self, timeout: float) -> None:
        self._timeout = timeout
        self.connection.settimeout(min(timeout, _FOREVER))


def _after_fork() -> None:
    """Closes the child's copies of the parent's connections, so that they end when the parent dies."""
    for channel in list(_channels):
        channel.disconnect()  # the loop is the parent's


after_fork_in_child(_after_fork)
