"""The client's end of a direct channel: sends one request, receives one reply.

A step costs two system calls: one to send, and one to wait and receive.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import struct
import weakref
from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from google.protobuf.message import DecodeError

from envwire.client._transports.direct.array_memory import Recycled, SharedFrames, map_mailbox
from envwire.client._transports.portability import POLLIN, after_fork_in_child, new_poll
from envwire.v1 import direct_pb2
from envwire.wire.encodings import ENCODED, Decoder, ZstandardError, zstandard
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE, Area, Reply
from envwire.wire.local_channel import DEVICE_MOMENT, STEP_MOMENT, WAKE, AdaptiveSpin, Mailbox

if TYPE_CHECKING:
    from envwire.client._session.client_device import ClientDevice

#: Small replies arrive in one piece: one call receives the header and everything after it.
SMALL_BYTES = 4096
#: Replies up to this size are accepted whatever the server's limit, so that its errors can be read.
LEAST_LIMIT = 2**20
_FOREVER = 1e9
#: As a plain number, which is converted sooner.
_AT_ONCE = int(getattr(socket, "MSG_DONTWAIT", 0))
_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


class Channel:
    """One plain connection. A reply as long as the last one is received directly into its final buffers.

    Args:
        sock: A connected socket; the channel owns it.

    Attributes:
        connection: The socket.
        buffer: Memory for the attachments of the next reply, used if it is exactly as long as they are.
        max_request_bytes: The longest request that the server accepts; known once it has answered the hello.
        loop: The event loop that watches it, if any.
        device: Gets the memory of a device that comes with the welcome.
        spin_seconds: How long a wait for a reply may begin by polling.
    """

    spin_seconds = STEP_MOMENT

    #: Flags of the calls that receive the rest of a reply: the kernel waits until the whole buffer is filled.
    _rest_flags: int = socket.MSG_WAITALL
    #: Whether one call can receive into several buffers.
    _scatters = True

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(True)
        self.connection = sock
        self.buffer: Area | None = None
        self._recycled = Recycled()
        self._limit = LEAST_LIMIT
        self._shared: SharedFrames | None = None
        self._mailbox: Mailbox | None = None
        self._decoder: Decoder | None = None
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
        self._timeout = 0.0
        self._spin = AdaptiveSpin()
        self._spin.moment = self.spin_seconds
        self._poll = new_poll()
        self._poll.register(sock.fileno(), POLLIN)
        self._look: Callable[[int], object] = self._poll.poll
        self.max_request_bytes = 0
        #: How many requests that were sent ahead are unanswered.
        self._ahead = 0
        self.loop: AbstractEventLoop | None = None
        self.device: ClientDevice | None = None
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
        self._set_timeout(timeout)
        self._send_all(PREAMBLE)
        self.send(hello, timeout)
        data, descriptors = self._receive_welcome()
        try:
            reply = self._parse(data) or self.read_reply()
            response = direct_pb2.HelloResponse.FromString(reply.message)
            if response.HasField("welcome"):
                self._welcomed(response.welcome, descriptors)
        except DecodeError as error:
            raise ConnectionResetError(f"not an answer to a hello: {error}") from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return response

    def make(
        self, hello: bytes, request: bytes, timeout: float
    ) -> tuple[direct_pb2.HelloResponse, direct_pb2.HelloResponse]:
        """Makes a session: sends hello and Make at once; returns the answer to the Make, and the welcome behind it.

        The second is empty if the first is an error.

        Raises:
            OSError: The connection broke, or no answer came in time.
        """
        self._set_timeout(timeout)
        frames = bytearray(PREAMBLE)
        for message in (hello, request):
            self.begin_ahead()
            frames += HEADER.pack(len(message), 0, 0) + message
        self._send_all(bytes(frames))
        try:
            made = direct_pb2.HelloResponse.FromString(self.receive_ahead(timeout).message)
            if not made.HasField("made"):
                return made, direct_pb2.HelloResponse()
            welcome = direct_pb2.HelloResponse.FromString(self.receive_ahead(timeout).message)
        except DecodeError as error:
            raise ConnectionResetError(f"not an answer to a Make: {error}") from error
        self._welcomed(welcome.welcome, [])
        return made, welcome

    def _welcomed(self, welcome: direct_pb2.Welcome, descriptors: list[int]) -> None:
        """Notes what the server accepts, and maps the memory that came with the welcome."""
        self.max_request_bytes = welcome.max_message_bytes
        self._limit = max(LEAST_LIMIT, self.max_request_bytes)
        self._map(welcome, descriptors)

    def _receive_welcome(self) -> tuple[bytes, list[int]]:
        data, descriptors, _, _ = socket.recv_fds(self.connection, SMALL_BYTES, 3)
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
        if welcome.encodings and (library := zstandard()):
            self._decoder = Decoder(library, self._limit)
        if self.device is not None:
            self.device.receive(welcome, next(coming, None))
            self.spin_seconds = DEVICE_MOMENT if self.device.on_gpu else STEP_MOMENT
            self._spin.moment = self.spin_seconds

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
            self._send_all(frame)

    def _send_all(self, frame: bytes) -> None:
        """Sends a frame within the timeout, however slowly the server reads: the kernel bounds each wait alone.

        Raises:
            BlockingIOError: The server has not read enough in time.
            OSError: The connection broke.
        """
        try:
            sent = self.connection.send(frame, _AT_ONCE)
        except BlockingIOError:
            sent = 0
        if sent < len(frame):
            self._send_rest(memoryview(frame)[sent:])

    def _send_rest(self, rest: memoryview) -> None:
        writable, end = select.poll(), perf_counter() + self._timeout
        writable.register(self.fileno(), select.POLLOUT)
        while rest:
            left = min(end - perf_counter(), _FOREVER)
            if left <= 0 or not writable.poll(math.ceil(left * 1000)):
                raise BlockingIOError("the server does not read the request")
            with contextlib.suppress(BlockingIOError):
                rest = rest[self.connection.send(rest, _AT_ONCE) :]

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

    def send_ahead(self, request: bytes, timeout: float) -> None:
        """Sends a request without waiting for earlier replies. It passes by the mailbox, which holds one frame.

        Raises:
            OSError: The connection broke.
        """
        if timeout != self._timeout:
            self._set_timeout(timeout)
        self.begin_ahead()
        self._send_all(HEADER.pack(len(request), 0, 0) + request)

    def begin_ahead(self) -> None:
        """Notes that a request is sent ahead; replies come on the socket."""
        self.sleep()
        self._ahead += 1

    def receive_ahead(self, timeout: float | None, flags: int = 0) -> Reply:
        """Waits for the reply to the oldest of the requests that were sent ahead.

        Args:
            timeout: Seconds to wait; None if the flags say not to.
            flags: As for `read_reply`, as are the errors.
        """
        if timeout is not None and timeout != self._timeout:
            self._set_timeout(timeout)
        self._spin.begin()
        early, self._early = self._early, b""
        reply = (self._parse(early) if early else None) or self.read_reply(flags)
        self._ahead -= 1
        return reply

    def _overdue(self) -> bool:
        return perf_counter() - self._spin.begun > self._timeout

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
                if reply is None and not flags and self._overdue():
                    raise BlockingIOError("no whole reply yet")  # the kernel bounds each read alone
                continue
            data = b"" if mailbox is None else mailbox.take()
            if not data:
                if mailbox is not None and mailbox.sleep():
                    continue
                if received and (flags or self._overdue()):
                    raise BlockingIOError("no reply yet")  # but wakes, maybe without end
                received = True
                if self._expected and not self._early:
                    reply = self._read_expected(flags)
                    continue
                data = self.connection.recv(SMALL_BYTES, flags)
            length, header = self._last
            if len(data) == length and data.startswith(header) and not self._early:
                return Reply(data[HEADER_BYTES:])  # most probably it is one like the last
            reply = self._parse(data)
        return reply

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
        following = attached if not slot or slot >= ENCODED else 0
        self._expected = 0 if slot or not self._scatters else following
        if length + attached > self._limit or (len(data) > end + following and self._ahead < 2):
            raise ConnectionResetError(f"not a frame: {length} + {attached} bytes at {slot}")
        if len(data) > end + following:  # the next reply begins in it
            data, self._early = data[: end + following], data[end + following :]
        if len(data) == end and not following:
            if not slot:
                self._last = end, data[:HEADER_BYTES]
            return Reply(data[HEADER_BYTES:], self._placed(slot, attached) if slot else None)
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
            area = self._placed(self._slot, self._attached, area)
        return Reply(bytes(memoryview(self._head)[HEADER_BYTES:]), area)

    def _buffer_of(self, length: int) -> Area:
        """Returns memory for attachments of this length."""
        buffer = self.buffer
        if buffer is not None and len(buffer) == length:
            return buffer
        return self._recycled.new(length)

    def _placed(self, slot: int, length: int, area: Area | None = None) -> Area:
        """Returns the attachments in a slot of the shared memory, or those that followed the message encoded."""
        if self._decoder is not None and area is not None:
            try:
                return self._decoder.decode(slot, area)
            except ZstandardError as error:
                raise ConnectionResetError(f"the server encoded wrongly: {error}") from error
        if self._shared is None:
            raise ConnectionResetError("the server refers to memory that it does not share")
        return self._shared.area(slot, length)

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
        if loop is not None and not loop.is_closed() and self.fileno() >= 0:
            loop.remove_reader(self.fileno())
        self.disconnect()

    def disconnect(self) -> None:
        """Closes the connection, even if an event loop watches it."""
        self.connection.close()
        self._shared = self._mailbox = None
        self._look = self._poll.poll


def _without_wakes(data: bytes) -> bytes:
    while data.startswith(WAKE):
        data = data[HEADER_BYTES:]
    return data


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

    def _send_all(self, frame: bytes) -> None:
        end = perf_counter() + self._timeout
        sent = self.connection.send(frame)
        while sent < len(frame):
            if perf_counter() > end:
                raise TimeoutError("the server does not read the request")
            sent += self.connection.send(memoryview(frame)[sent:])


def _after_fork() -> None:
    """Closes the child's copies of the parent's connections, so that they end when the parent dies."""
    for channel in list(_channels):
        channel.disconnect()  # the loop is the parent's


after_fork_in_child(_after_fork)
