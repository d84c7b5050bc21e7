"""Frames between the front and a session process: the number of a session, and a message.

A frame is two numbers of four bytes, little-endian, the length of the message and the session's place in the process,
and that many bytes of message. An empty message is a notice: from the process, that the session of that place was
closed; from the front, that the session is to be ended, or that a notice arrived.
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

#: What comes through the door with a connection: the session's place, and whether its client takes shared memory.
DOOR = struct.Struct("<I?")
#: What comes through the door with descriptors when the process is to be forked: a number, which the answer repeats.
FORK = struct.Struct("<Q")
_HEADER = struct.Struct("<II")
HEADER_BYTES = _HEADER.size
_RECEIVE_BYTES = 65536


class FrameError(Exception):
    """The peer sent something that is not a frame."""


class Frame(NamedTuple):
    """One frame."""

    place: int
    message: bytes


def pack_header(place: int, length: int) -> bytes:
    """Returns the header of a message of `length` bytes."""
    return _HEADER.pack(length, place)


class FrameReader:
    """Cuts a stream of bytes into frames.

    Args:
        limit: Largest message accepted, in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Takes the next bytes and returns the frames that are complete.

        Raises:
            FrameError: A header announces more than the limit.
        """
        self._buffer += data
        frames: list[Frame] = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _next(self) -> Frame | None:
        if len(self._buffer) < HEADER_BYTES:
            return None
        length, place = _HEADER.unpack_from(self._buffer)
        if length > self._limit:
            raise FrameError(f"a frame of {length} bytes exceeds the limit of {self._limit}")
        end = HEADER_BYTES + length
        if len(self._buffer) < end:
            return None
        message = bytes(memoryview(self._buffer)[HEADER_BYTES:end])
        del self._buffer[:end]
        return Frame(place, message)


def send_frame(sock: socket.socket, place: int, message: bytes) -> None:
    """Sends one message on a blocking socket."""
    if len(message) < 65536:
        sock.sendall(pack_header(place, len(message)) + message)
    else:  # a copy of a large message costs more than a second call
        sock.sendall(pack_header(place, len(message)))
        sock.sendall(message)


class FrameSocket:
    """Receives frames on a blocking socket, each small one in a single call.

    Args:
        sock: The socket; others may send on it.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._rest = b""

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
        length, place = _HEADER.unpack_from(data)
        end = HEADER_BYTES + length
        if len(data) < end:
            data += self._more_exactly(end - len(data))
        self._rest = data[end:]
        return Frame(place, data[HEADER_BYTES:end])

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
