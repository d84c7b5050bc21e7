"""A direct channel: frames on a plain socket, whole or in pieces, correct or broken."""

from __future__ import annotations

import array
import contextlib
import fcntl
import mmap
import os
import select
import socket
import struct
import termios
from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError, Message

from envwire.conformance.outcomes import FailedError, expect_equal
from envwire.conformance.raw.access import MAX_ANSWER_BYTES, Access, too_large
from envwire.conformance.raw.answers import Answer
from envwire.conformance.raw.mailbox import Mailbox, resizable
from envwire.conformance.raw.trace import Trace
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

PREAMBLE = b"envwire\x01"
HEADER = struct.Struct("<IIQ")
#: Location of attachments that follow their message encoded; the number of the encoding is added.
ENCODED = 1 << 31
UNIX = "unix-abstract:"
#: An empty frame: on a channel with a mailbox, it tells the reader to look into the box.
WAKE = bytes(HEADER.size)
#: Most descriptors that come with a welcome: those of the shared memory, of the mailbox, and of a
#: device's memory.
_MOST_DESCRIPTORS = 3


def frame(message: Message | bytes) -> bytes:
    """Returns the frame that holds a message."""
    raw = message if isinstance(message, bytes) else message.SerializeToString()
    return HEADER.pack(len(raw), 0, 0) + raw


class DirectLink:
    """One connection to a direct port.

    Args:
        access: How the server was reached.
        host: The host of addresses that name none.
        address: One of the session's addresses.
        seconds: Longest wait, in seconds.
        trace: Records what is sent and received.

    Attributes:
        device_memory: The memory of a device, if the welcome offered some; that of the host only.
        mailbox: The mailbox, if the welcome offered one.
        memory: The shared memory, if the welcome offered some.
        resizable: Whether that memory can grow or shrink.
        trace: Records what is sent and received.
        welcome: The welcome.
    """

    name = "direct"
    shows_header = False

    def __init__(
        self, access: Access, host: str, address: str, seconds: float, trace: Trace
    ) -> None:
        self.trace = trace
        self._socket = _connect(access, host, address, seconds)
        self._socket.settimeout(seconds)
        self.mailbox: Mailbox | None = None
        self.memory: mmap.mmap | None = None
        self.device_memory: mmap.mmap | None = None
        self.resizable = False
        self.welcome = direct_pb2.Welcome()

    def hello(
        self,
        header: pb.SessionHeader,
        *,
        shared_memory: bool = False,
        mailbox: bool = False,
        device: direct_pb2.DeviceIdentity | None = None,
        encodings: Sequence[direct_pb2.Encoding.ValueType] = (),
    ) -> direct_pb2.HelloResponse:
        """Opens the channel to a session, and returns the answer: a welcome, or an error."""
        asked = direct_pb2.HelloRequest(
            header=header,
            shared_memory=shared_memory,
            mailbox=mailbox,
            device=device,
            encodings=encodings,
            encode_always=bool(encodings),
        )
        self.trace.sent(self.name, asked)
        self.send_bytes(PREAMBLE + frame(asked))
        return self.receive_hello()

    def receive_hello(self) -> direct_pb2.HelloResponse:
        """Waits for the answer to a hello, and maps the memory that comes with it."""
        first, descriptors = self._first_byte()
        raw, _, _ = self.receive_frame(first)
        answer: direct_pb2.HelloResponse = _parse(direct_pb2.HelloResponse, raw)
        self.trace.received(self.name, answer)
        self.welcome = answer.welcome
        try:
            if answer.welcome.HasField("shared_memory") and descriptors:
                self._map(descriptors.pop(0))
            if answer.welcome.HasField("mailbox") and descriptors:
                with contextlib.suppress(OSError, ValueError):
                    self.mailbox = Mailbox(descriptors.pop(0), answer.welcome.mailbox.box_bytes)
            if answer.welcome.HasField("device_memory") and descriptors:
                self.resizable = resizable(descriptors[0])
                with contextlib.suppress(OSError, ValueError):
                    size = answer.welcome.device_memory.bytes
                    self.device_memory = mmap.mmap(descriptors[0], size)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return answer

    def _first_byte(self) -> tuple[bytes, list[int]]:
        if self._socket.family == socket.AF_UNIX:
            first, descriptors, _, _ = socket.recv_fds(self._socket, 1, _MOST_DESCRIPTORS)
            return first, list(descriptors)
        return b"", []

    def _map(self, descriptor: int) -> None:
        layout = self.welcome.shared_memory
        size = layout.first_slot + layout.slots * layout.slot_bytes
        self.resizable = resizable(descriptor)
        try:
            self.memory = mmap.mmap(descriptor, size)
        except OSError:
            self.resizable = True
        finally:
            os.close(descriptor)

    def send_bytes(self, data: bytes) -> None:
        """Sends bytes unchanged."""
        self._socket.sendall(data)

    def send(self, message: Message) -> None:
        """Sends a message in a frame."""
        self.trace.sent(self.name, message)
        self.send_bytes(frame(message))

    def receive_frame(self, begun: bytes = b"") -> tuple[bytes, int, bytes]:
        """Waits for a frame, and returns its message, slot and attachments.

        Raises:
            FailedError: The connection ended, nothing arrived in time, or the frame is too large.
        """
        length, slot, attached = HEADER.unpack(begun + self._exactly(HEADER.size - len(begun)))
        if length + attached > MAX_ANSWER_BYTES:
            raise too_large(f"{length} bytes, with attachments of {attached}")
        message = self._exactly(length)
        follow = not slot or slot >= ENCODED
        return message, slot, self._exactly(attached) if follow else self._in_slot(slot, attached)

    def _in_slot(self, slot: int, length: int) -> bytes:
        memory, layout = self.memory, self.welcome.shared_memory
        if memory is None:
            raise FailedError("attachments behind the message, as no memory is shared")
        expect_equal(memory[slot - 1], 1, f"the byte of slot {slot}, which holds a frame")
        start = layout.first_slot + (slot - 1) * layout.slot_bytes
        return memory[start : start + length]

    def _exactly(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            data += self._some(length - len(data))
        return bytes(data)

    def _some(self, length: int) -> bytes:
        try:
            more = self._socket.recv(min(length, 1 << 20))
        except TimeoutError:
            raise FailedError("a frame on the direct channel; none came in time") from None
        except OSError as error:
            raise FailedError(f"a frame on the direct channel, not {error}") from None
        if not more:
            raise FailedError("a frame on the direct channel, not its end")
        return more

    def receive(self) -> Answer:
        """Waits for the next answer."""
        return self.answer(*self.receive_frame())

    def answer(self, raw: bytes, slot: int, attachments: bytes, came: str = name) -> Answer:
        """Returns the answer in a frame; `came` is what the trace shows as its link."""
        response = _parse(pb.InteractResponse, raw)
        self.trace.received(came, response)
        return Answer(response, raw, attachments, slot)

    def answer_in_box(self, frame: bytes) -> Answer:
        """Returns the answer in a frame that was in the mailbox.

        Raises:
            FailedError: It is no frame, or has attachments behind its message.
        """
        length, slot, attached = HEADER.unpack_from(frame)
        expect_equal(len(frame), HEADER.size + length, "the bytes of the frame in the box")
        attachments = self._in_slot(slot, attached) if slot else b""
        expect_equal(len(attachments), attached, "the bytes of attachments, of a frame in the box")
        return self.answer(frame[HEADER.size :], slot, attachments, "box")

    def readable(self, seconds: float) -> bool:
        """Returns whether bytes, or the end of the connection, arrive within `seconds`."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def all_read(self) -> bool:
        """Returns whether the server has read all that was sent on a Unix socket."""
        unread = array.array("i", [0])
        fcntl.ioctl(self._socket, termios.TIOCOUTQ, unread)
        return unread[0] == 0

    def exchange(self, request: pb.InteractRequest, seconds: float) -> Answer:
        """Sends a request, and waits for its answer."""
        self._socket.settimeout(seconds)
        self.send(request)
        return self.receive()

    def ended(self, seconds: float) -> bool:
        """Returns whether the server closes the connection within `seconds`, without sending another byte."""
        self._socket.settimeout(seconds)
        try:
            return self._socket.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def answers_in_frames(self) -> bool:
        """Returns whether a whole frame arrives."""
        try:
            self.receive_frame()
        except (FailedError, MemoryError):
            return False
        return True

    def close(self) -> None:
        """Closes the connection and unmaps the memory."""
        self._socket.close()
        if self.mailbox is not None:
            self.mailbox.close()
            self.mailbox = None
        if self.memory is not None:
            self.memory.close()
            self.memory = None


def _connect(access: Access, host: str, address: str, seconds: float) -> socket.socket:
    try:
        if address.startswith(UNIX):
            found = socket.socket(socket.AF_UNIX)
            found.settimeout(seconds)
            found.connect("\0" + address.removeprefix(UNIX))
            return found
        named, _, port = address.rpartition(":")
        found = socket.create_connection((named.strip("[]") or host, int(port)), timeout=seconds)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = access.tls()
        return (
            found if context is None else context.wrap_socket(found, server_hostname=named or host)
        )
    except OSError as error:
        raise FailedError(f"a direct channel at {address}, not {error}") from None


def _parse(kind: type[Any], raw: bytes) -> Any:
    try:
        return kind.FromString(raw)
    except DecodeError:
        raise FailedError(f"a {kind.DESCRIPTOR.name}, not the bytes {raw[:40].hex()}") from None
