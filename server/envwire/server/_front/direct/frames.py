"""Reads single frames from a new connection, and no byte beyond them, since the rest belongs to the session."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason
from envwire.v1 import direct_pb2
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE

_HELLO_BYTES = 1024
_DISCARD_BYTES = 1 << 16


async def receive_hello(connection: socket.socket) -> direct_pb2.HelloRequest:
    """Reads the hello of a connection.

    Raises:
        FaultError: MALFORMED_REQUEST.
        OSError: The connection broke, or is not a direct channel.
    """
    if await _receive(connection, len(PREAMBLE)) != PREAMBLE:
        raise ConnectionError("not a direct channel")
    data = await receive_frame(connection, _HELLO_BYTES, "HelloRequest")
    try:
        return direct_pb2.HelloRequest.FromString(data)
    except DecodeError as error:
        raise FaultError(Reason.MALFORMED_REQUEST, f"not a HelloRequest: {error}") from error


async def receive_frame(connection: socket.socket, limit: int, what: str) -> bytes:
    """Reads a frame without attachments and returns its message; a frame that is too long is not read.

    Args:
        connection: A non-blocking socket.
        limit: Largest message, in bytes.
        what: Name of the message, for errors.

    Raises:
        FaultError: MALFORMED_REQUEST.
        OSError: The connection broke.
    """
    length, slot, attached = HEADER.unpack(await _receive(connection, HEADER_BYTES))
    if length > limit or slot or attached:
        raise FaultError(
            Reason.MALFORMED_REQUEST,
            f"a frame of {length} bytes and {attached} of attachments, in slot {slot}; send a {what} of at most "
            f"{limit} bytes, without attachments",
        )
    return await _receive(connection, length)


async def _receive(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        more = await asyncio.get_running_loop().sock_recv(connection, length - len(data))
        if not more:
            raise ConnectionError("the connection ended inside its hello")
        data += more
    return bytes(data)


async def send_response(connection: socket.socket, response: direct_pb2.HelloResponse) -> None:
    """Sends the answer to a hello as a frame.

    Raises:
        OSError: The connection broke.
    """
    message = response.SerializeToString()
    frame = HEADER.pack(len(message), 0, 0) + message
    await asyncio.get_running_loop().sock_sendall(connection, frame)


async def discard(connection: socket.socket, most_bytes: int, seconds: float) -> None:
    """Reads and discards what a client still sends, up to `most_bytes` and for up to `seconds`."""
    buffer = bytearray(_DISCARD_BYTES)

    async def read() -> None:
        left = most_bytes
        while left > 0:
            length = await asyncio.get_running_loop().sock_recv_into(connection, buffer)
            left = left - length if length else 0

    with contextlib.suppress(OSError, asyncio.TimeoutError):
        await asyncio.wait_for(read(), seconds)
