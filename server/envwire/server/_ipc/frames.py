"""Frames between the front and a session process: the number of a session, and a message.

A frame is three numbers of four bytes, little-endian, and a message: the message's length, the session's place in the
process, and where the message is: 0 if its bytes follow, else its place on the shelf. An empty message is a notice:
from the process, that the session of that place was closed; from the front, that the session is to be ended, or that
a notice arrived.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

from envwire.server._ipc.gathering import Buffer, send_gathered
from envwire.server._ipc.message_slots import Shelf, ShelfError

#: What comes through the door with a connection: the session's place, and whether its client takes shared memory.
DOOR = struct.Struct("<I?")
#: What comes through the door with descriptors when the process is to be forked: a number, which the answer repeats.
FORK = struct.Struct("<Q")
_HEADER = struct.Struct("<III")
HEADER_BYTES = _HEADER.size
_RECEIVE_BYTES = 65536


class FrameError(Exception):
    """The peer sent something that is not a frame."""


class Frame(NamedTuple):
    """One frame."""

    place: int
    message: bytes


def pack_header(place: int, length: int, where: int = 0) -> bytes:
    """Returns the header of a message of `length` bytes, which follow or are on the shelf."""
    return _HEADER.pack(length, place, where)


def _end(data: bytes, start: int) -> int:
    """Returns where the frame that begins at `start` ends, or its header, when that is not complete."""
    end = start + HEADER_BYTES
    if end <= len(data):
        length, _, where = _HEADER.unpack_from(data, start)
        end += 0 if where else length
    return end


def _frame(data: bytes, start: int, end: int, shelf: Shelf | None) -> Frame:
    """Returns the frame that lies there, with its message from wherever it is."""
    length, place, where = _HEADER.unpack_from(data, start)
    if not where:
        return Frame(place, data[start + HEADER_BYTES : end])
    if shelf is None:
        raise FrameError("a message on a shelf that there is not")
    try:
        return Frame(place, shelf.take(where, length))
    except ShelfError as error:
        raise FrameError(str(error)) from error


class FrameReader:
    """Cuts a stream of bytes into frames.

    Args:
        limit: Largest message accepted, in bytes.
        shelf: Where large messages may be; None for nowhere.
    """

    def __init__(self, limit: int, shelf: Shelf | None = None) -> None:
        self._limit = limit
        self._shelf = shelf
        self._parts: list[bytes] = []
        self._missing = 0

    def feed(self, data: bytes) -> list[Frame]:
        """Takes the next bytes and returns the frames that are complete.

        Raises:
            FrameError: A header announces more than the limit, or what is not on the shelf.
        """
        self._missing -= len(data)
        if self._missing > 0:  # a large frame comes in pieces
            self._parts.append(data)
            return []
        if self._parts:
            data = b"".join((*self._parts, data))
        return self._cut(data)

    def _cut(self, data: bytes) -> list[Frame]:
        frames: list[Frame] = []
        start = 0
        while (end := self._checked_end(data, start)) <= len(data):
            frames.append(_frame(data, start, end, self._shelf))
            start = end
        self._parts = [data[start:]] if start < len(data) else []
        self._missing = end - len(data)
        return frames

    def _checked_end(self, data: bytes, start: int) -> int:
        if len(data) - start >= HEADER_BYTES:
            length, _, _ = _HEADER.unpack_from(data, start)
            if length > self._limit:
                raise FrameError(f"a frame of {length} bytes exceeds the limit of {self._limit}")
        return _end(data, start)


class FrameSocket:
    """Sends and receives frames on a blocking socket, each small one in a single call.

    Args:
        sock: The socket; it stays the caller's.
        shelf: Where large messages may be; None for nowhere.
    """

    def __init__(self, sock: socket.socket, shelf: Shelf | None = None) -> None:
        self._socket = sock
        self._shelf = shelf
        self._rest = b""

    def send(self, place: int, buffers: Sequence[Buffer]) -> None:
        """Sends a message.

        Args:
            place: The session's place.
            buffers: The message in pieces.
        """
        length = sum(map(len, buffers))
        if self._shelf is not None and (where := self._shelf.put(buffers, length)):
            self._socket.sendall(pack_header(place, length, where))
        else:
            send_gathered(self._socket, [pack_header(place, length), *buffers])

    @property
    def waiting(self) -> bool:
        """Whether bytes were received that belong to the next frame: a poll would not tell."""
        return bool(self._rest)

    def receive(self) -> Frame | None:
        """Returns the next frame; None when the peer closed the socket between two frames.

        Raises:
            FrameError: The peer closed the socket inside a frame.
        """
        data = self._rest or self._socket.recv(_RECEIVE_BYTES)
        if not data:
            return None
        while len(data) < HEADER_BYTES:
            data += self._more(HEADER_BYTES - len(data))
        end = _end(data, 0)
        if len(data) < end:
            data += self._more_exactly(end - len(data))
        self._rest = data[end:]
        return _frame(data, 0, end, self._shelf)

    def _more_exactly(self, length: int) -> bytes:
        buffer = bytearray(length)
        view, filled = memoryview(buffer), 0
        while filled < length:
            received = self._socket.recv_into(view[filled:])
            if not received:
                raise FrameError(
                    f"the connection ended {length - filled} bytes before the end of a frame"
                )
            filled += received
        return bytes(buffer)

    def _more(self, length: int) -> bytes:
        data = self._socket.recv(length)
        if not data:
            raise FrameError("the connection ended inside the header of a frame")
        return data
