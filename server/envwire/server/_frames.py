"""Frames: how messages travel on a socket between the front and a session process.

A frame is four bytes of length, little-endian, and that many bytes of message.
"""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct("<I")
HEADER_BYTES = _LENGTH.size
_RECEIVE_BYTES = 65536


class FrameError(Exception):
    """The peer sent something that is not a frame."""


def pack_header(length: int) -> bytes:
    """Returns the header of a message of `length` bytes."""
    return _LENGTH.pack(length)


class FrameReader:
    """Cuts a stream of bytes into messages.

    Args:
        limit: Largest message accepted, in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Takes the next bytes and returns the messages that are complete.

        Raises:
            FrameError: A header announces more than the limit.
        """
        self._buffer += data
        messages: list[bytes] = []
        while (message := self._next()) is not None:
            messages.append(message)
        return messages

    def _next(self) -> bytes | None:
        if len(self._buffer) < HEADER_BYTES:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > self._limit:
            raise FrameError(f"a frame of {length} bytes exceeds the limit of {self._limit}")
        end = HEADER_BYTES + length
        if len(self._buffer) < end:
            return None
        message = bytes(memoryview(self._buffer)[HEADER_BYTES:end])
        del self._buffer[:end]
        return message


def send_frame(sock: socket.socket, message: bytes) -> None:
    """Sends one message on a blocking socket."""
    if len(message) < 65536:
        sock.sendall(pack_header(len(message)) + message)
    else:  # a copy of a large message costs more than a second call
        sock.sendall(pack_header(len(message)))
        sock.sendall(message)


class FrameSocket:
    """Receives messages on a blocking socket, each small one in a single call.

    Args:
        sock: The socket; others may send on it.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._rest = b""

    def receive(self) -> bytes | None:
        """Returns the next message; None when the peer closed the socket between two messages.

        Raises:
            FrameError: The peer closed the socket inside a message.
        """
        data = self._rest or self._socket.recv(_RECEIVE_BYTES)
        if not data:
            return None
        while len(data) < HEADER_BYTES:
            data += self._more(HEADER_BYTES - len(data))
        end = HEADER_BYTES + _LENGTH.unpack_from(data)[0]
        if len(data) < end:
            data += self._more_exactly(end - len(data))
        self._rest = data[end:]
        return data[HEADER_BYTES:end]

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
