"""Frames: how messages travel on a socket between the front and a session process.

A frame is four bytes of length, little-endian, and that many bytes of message.
"""

from __future__ import annotations

import socket
import struct

_LENGTH = struct.Struct("<I")
HEADER_BYTES = _LENGTH.size


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


def receive_frame(sock: socket.socket) -> bytes | None:
    """Receives one message on a blocking socket; None when the peer closed it between two messages.

    Raises:
        FrameError: The peer closed the socket inside a message.
    """
    header = _receive(sock, HEADER_BYTES)
    if header is None:
        return None
    (length,) = _LENGTH.unpack(header)
    message = _receive(sock, length)
    if message is None:
        raise FrameError("the connection ended after the header of a frame")
    return message


def _receive(sock: socket.socket, length: int) -> bytes | None:
    first = sock.recv(length) if length else b""
    if len(first) == length:
        return first
    if not first:
        return None
    buffer = bytearray(length)
    buffer[: len(first)] = first
    view, filled = memoryview(buffer), len(first)
    while filled < length:
        received = sock.recv_into(view[filled:])
        if not received:
            raise FrameError(
                f"the connection ended {length - filled} bytes before the end of a frame"
            )
        filled += received
    return bytes(buffer)
