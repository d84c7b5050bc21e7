"""Frames between the front and a session process: a kind, the number of a session, and a message.

A frame is a little-endian header and a message. The header holds the message's length (4 bytes), its location (4 bytes:
0 if the bytes follow, else the number of its slot in shared memory), the session's number (8 bytes), and the kind (1
byte).

The kind determines what the receiver may do with the message, and only the two ends of the link write it: a client's
message remains one, whatever its bytes are. Session numbers are not reused within a process, so a late frame cannot be
mistaken for one of a later session.

Pictures that a session process renders for watchers travel as messages of their own: width and height (2 bytes each),
the rendering time in seconds (an 8-byte float), and the pixels. A message without pixels has the reason in their place,
in UTF-8.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from envwire.server._ipc.message_slots import (
    JOINED_BELOW,
    Buffer,
    MessageSlots,
    MessageSlotsError,
    send_some,
)

#: Control socket message with a connection: the session's number, and its client's `ChannelUse`.
ADMIT = struct.Struct("<Q??B16sB")
#: Control socket message with the file of a session's recording, sent before its MAKE or COPY by a server that records:
#: the session's number and the recording's name. Without a descriptor the session is not recorded.
RECORDING = struct.Struct("<Q96s")
#: Control socket message that requests a copy of the process, with a socket for the answer and the copy's descriptors.
FORK = b"fork"
#: Beginning of a MAKE frame's message: the slot that the session gets; the MakeRequest follows.
SLOT = struct.Struct("<I")
#: Message of a DRAIN frame: when the server stops, in seconds of this machine's monotonic clock.
STOPS_AT = struct.Struct("<d")
#: Largest packet to and from the fork server, and largest answer of a process to FORK, in bytes.
PACKET_BYTES = 4096
_HEADER = struct.Struct("<IIQB")
HEADER_BYTES = _HEADER.size
_RECEIVE_BYTES = 65536
#: A limit that no frame exceeds.
_ANY_LENGTH = (1 << 32) - 1


class Kind(IntEnum):
    """The kinds of frames.

    Attributes:
        CLIENT: To the process: a request from the session's client.
        MAKE: To the process: a new session, its slot on the scoreboard and the environment, which the operator's lists
            allow.
        COPY: To the process: its environment, forked from another session, becomes this session.
        END: To the process: the session is over.
        ACK: To the process: CLOSED arrived.
        DRAIN: To the process: the server is about to stop, for the clients on direct channels.
        REPLY: To the front: the answer to CLIENT, MAKE or COPY, exactly one for each, in order.
        CLOSED: To the front: the session is over and its slot is free; sent once per session, even if its Make failed.
        RENDER: To the process: a watcher wants a picture of the environment.
        RENDERED: To the front: the picture, or why there is none; one for each RENDER of a live session.
    """

    CLIENT = 1
    MAKE = 2
    COPY = 3
    END = 4
    ACK = 5
    REPLY = 6
    CLOSED = 7
    DRAIN = 8
    RENDER = 9
    RENDERED = 10


class Encode(IntEnum):
    """When attachments are encoded."""

    NEVER = 0
    IF_SOONER = 1
    IF_SMALLER = 2


class ChannelUse(NamedTuple):
    """What a client can use on its channel; memory only on this machine, and encodings only over TCP.

    Attributes:
        frames: Slots of memory for large frames.
        mailbox: A mailbox for small ones.
        device_kind: The kind of device whose memory it can share, a value of `DeviceKind`; 0 for none.
        device_uuid: The UUID of a GPU, 16 bytes.
        encode: When attachments are encoded, an `Encode`.
    """

    frames: bool = False
    mailbox: bool = False
    device_kind: int = 0
    device_uuid: bytes = b""
    encode: int = Encode.NEVER


class FrameError(Exception):
    """The peer sent bytes that are not a valid frame."""


class Frame(NamedTuple):
    """One received frame: its kind, which may be invalid, a session's number, and the message."""

    kind: int
    session: int
    message: bytes


def pack_header(kind: Kind, session: int, length: int = 0, slot: int = 0) -> bytes:
    """Returns the header of a message of `length` bytes, which follow it or are in a message slot."""
    return _HEADER.pack(length, slot, session, kind)


class FrameReader:
    """Cuts a stream of bytes into frames.

    Args:
        limit: Largest message accepted, in bytes.
        message_slots: Shared memory that holds large messages; None for none.
    """

    def __init__(self, limit: int, message_slots: MessageSlots | None = None) -> None:
        self._limit = limit
        self._message_slots = message_slots
        self._parts: list[bytes] = []
        self._missing = 0

    @property
    def incomplete(self) -> bool:
        """Whether the bytes so far end inside a frame."""
        return bool(self._parts)

    def feed(self, data: bytes) -> list[Frame]:
        """Adds received bytes and returns the frames that are complete.

        Raises:
            FrameError: A header announces more bytes than the limit, or names a slot without a message.
        """
        self._missing -= len(data)
        if self._missing > 0:  # a large frame arrives in pieces
            self._parts.append(data)
            return []
        if self._parts:
            data = b"".join((*self._parts, data))
        frames: list[Frame] = []
        start, available = 0, len(data)
        while (end := start + HEADER_BYTES) <= available:
            length, slot, session, kind = _HEADER.unpack_from(data, start)
            if length > self._limit:
                raise FrameError(f"a frame of {length} bytes exceeds the limit of {self._limit}")
            if slot:
                message = self._take(slot, length)
            elif (end := end + length) > available:
                break
            else:
                message = data[start + HEADER_BYTES : end]
            frames.append(Frame(kind, session, message))
            start = end
        self._parts = [data[start:]] if start < available else []
        self._missing = end - available
        return frames

    def _take(self, slot: int, length: int) -> bytes:
        """Returns a message from the message slots."""
        if self._message_slots is None:
            raise FrameError("a message in shared memory that this link has not")
        try:
            return self._message_slots.take(slot, length)
        except MessageSlotsError as error:
            raise FrameError(str(error)) from error


class FrameSocket:
    """Sends and receives frames on a blocking socket, each small one in a single call.

    Args:
        sock: The socket; it stays the caller's.
        message_slots: Shared memory that holds large messages; None for none.
    """

    def __init__(self, sock: socket.socket, message_slots: MessageSlots | None = None) -> None:
        self._socket = sock
        self._message_slots = message_slots
        self._reader = FrameReader(_ANY_LENGTH, message_slots)
        self._received: deque[Frame] = deque()

    def send(
        self, kind: Kind, session: int, buffers: Sequence[Buffer] = (), behind: bytes = b""
    ) -> None:
        """Sends a frame.

        Args:
            kind: Its kind.
            session: The session's number.
            buffers: The message, in pieces.
            behind: Another frame, sent together with this one.
        """
        length = sum(map(len, buffers))
        if length < JOINED_BELOW:
            head = pack_header(kind, session, length)
            self._socket.sendall(b"".join((head, *buffers, behind)))
        elif slot := self._put(buffers, length):
            self._socket.sendall(pack_header(kind, session, length, slot) + behind)
        else:
            send_some(self._socket, [pack_header(kind, session, length), *buffers, behind])

    def _put(self, buffers: Sequence[Buffer], length: int) -> int:
        return 0 if self._message_slots is None else self._message_slots.put(buffers, length)

    @property
    def waiting(self) -> bool:
        """Whether the next frame was already read from the socket, which a poll would not report."""
        return bool(self._received)

    def receive(self) -> Frame | None:
        """Returns the next frame; None when the peer closed the socket between two frames.

        Raises:
            FrameError: The peer closed the socket inside a frame.
        """
        while not self._received:
            if not self._receive_more():
                return None
        return self._received.popleft()

    def _receive_more(self) -> bool:
        """Waits for bytes and returns whether there were any, or the peer has closed the socket."""
        if data := self._socket.recv(_RECEIVE_BYTES):
            self._received += self._reader.feed(data)
        elif self._reader.incomplete:
            raise FrameError("the connection ended before the end of a frame")
        return bool(data)

    def announce_closed(self, session: int, seconds: float) -> None:
        """Reports that a session is over, and waits for the acknowledgement; other frames are kept for `receive`.

        Args:
            session: The session's number.
            seconds: Longest wait.
        """
        self.send(Kind.CLOSED, session)
        self._socket.settimeout(seconds)
        expected = {Frame(Kind.ACK, session, b""), Frame(Kind.END, session, b"")}
        with contextlib.suppress(OSError):
            while expected.isdisjoint(self._received) and self._receive_more():
                pass
        self._socket.settimeout(None)


_HEAD = struct.Struct("<HHd")
#: The only mode that can be rendered for watchers: "rgb_array_list" hands out frames once, and they are the client's.
RENDER_MODE = "rgb_array"
#: Longest side in pixels: enough for a tile on a page, and at most 307,200 bytes.
MAX_SIDE = 320
_MAX_REASON = 200


class Picture(NamedTuple):
    """A rendered picture, or the reason why there is none.

    Attributes:
        width: Pixels per row; 0 without a picture.
        height: Number of rows.
        rgb: Three bytes per pixel, row by row from the top.
        reason: Why there is no picture.
        seconds: Rendering time.
    """

    width: int
    height: int
    rgb: bytes
    reason: str
    seconds: float


def pack_picture(pixels: Any, seconds: float) -> bytes:
    """Returns the message of a picture; a large one is reduced to every n-th pixel.

    Args:
        pixels: The result of `render`.
        seconds: Rendering time.

    Raises:
        ValueError: The result is not a uint8 array of shape (height, width, 3).
    """
    array = np.asarray(pixels)
    if array.dtype != np.uint8 or array.ndim != 3:
        raise ValueError("the environment rendered no array of bytes")
    if array.shape[2] != 3 or not array.size:
        raise ValueError(f"the environment rendered an array of shape {array.shape}")
    every = -(-max(array.shape[:2]) // MAX_SIDE)
    small = array[::every, ::every]
    return _HEAD.pack(small.shape[1], small.shape[0], seconds) + small.tobytes()


def pack_reason(reason: str, seconds: float = 0.0) -> bytes:
    """Returns the message that says why there is no picture; `seconds` is the time of the attempt."""
    return _HEAD.pack(0, 0, seconds) + reason[:_MAX_REASON].encode(errors="replace")


def read_picture(message: bytes) -> Picture:
    """Parses a picture's message. It comes from a session process and is not trusted.

    Raises:
        FrameError: The message is not a valid picture.
    """
    if len(message) < _HEAD.size:
        raise FrameError(f"a picture of {len(message)} bytes")
    width, height, seconds = _HEAD.unpack_from(message)
    body = message[_HEAD.size :]
    if not 0 <= seconds < float("inf"):
        raise FrameError(f"a picture that took {seconds} s")
    if not width and not height and len(body) <= 4 * _MAX_REASON:
        return Picture(0, 0, b"", body.decode(errors="replace"), seconds)
    if max(width, height) > MAX_SIDE or len(body) != width * height * 3 or not body:
        raise FrameError(f"a picture of {width} x {height} pixels in {len(body)} bytes")
    return Picture(width, height, body, "", seconds)
