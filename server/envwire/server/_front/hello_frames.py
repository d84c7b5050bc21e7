"""What comes first on a new connection: the hello of a direct channel, or a preamble for the gateway that relays one.

Single frames are read, and no byte beyond them, since the rest belongs to the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason
from envwire.v1 import direct_pb2
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE

RELAY_PREAMBLE: Final = b"envrely\x01"
"""What a server sends first on a connection for a client of a gateway; the key of the gateway's order follows, and then
the bytes of a direct channel."""

KEY_BYTES: Final = 16
"""Length of a key."""

MOST_OPENING: Final = 64
"""Connections that a server opens at a time for one gateway, which has this many clients wait for it."""

_HELLO_BYTES = 1024
_DISCARD_BYTES = 1 << 16

#: Reads a number of bytes from a connection.
Read = Callable[[int], Awaitable[bytes]]


async def receive_hello(read: Read) -> direct_pb2.HelloRequest:
    """Reads the preamble and the hello of a connection.

    Raises:
        FaultError: MALFORMED_REQUEST.
        OSError: The connection broke, or is not a direct channel.
    """
    if await read(len(PREAMBLE)) != PREAMBLE:
        raise ConnectionError("not a direct channel")
    return await receive_hello_frame(read)


async def receive_hello_frame(read: Read) -> direct_pb2.HelloRequest:
    """Reads the hello of a connection behind its preamble.

    Raises:
        FaultError: MALFORMED_REQUEST.
        OSError: The connection broke.
    """
    data = await receive_frame(read, _HELLO_BYTES, "HelloRequest")
    try:
        return direct_pb2.HelloRequest.FromString(data)
    except DecodeError as error:
        raise FaultError(Reason.MALFORMED_REQUEST, f"not a HelloRequest: {error}") from error


async def receive_frame(read: Read, limit: int, what: str) -> bytes:
    """Reads a frame without attachments and returns its message; a frame that is too long is not read.

    Args:
        read: Reads from the connection.
        limit: Largest message, in bytes.
        what: Name of the message, for errors.

    Raises:
        FaultError: MALFORMED_REQUEST.
        OSError: The connection broke.
    """
    length, slot, attached = HEADER.unpack(await read(HEADER_BYTES))
    if length > limit or slot or attached:
        raise FaultError(
            Reason.MALFORMED_REQUEST,
            f"a frame of {length} bytes and {attached} of attachments, in slot {slot}; send a {what} of at most "
            f"{limit} bytes, without attachments",
        )
    return await read(length)


async def receive(connection: socket.socket, length: int) -> bytes:
    """Reads a number of bytes from a non-blocking socket.

    Raises:
        OSError: The connection broke.
    """
    data = bytearray()
    if length:
        with contextlib.suppress(BlockingIOError):  # most often all is there, and waiting is slow
            data += connection.recv(length) or _ended()
    while len(data) < length:
        more = await asyncio.get_running_loop().sock_recv(connection, length - len(data))
        data += more or _ended()
    return bytes(data)


def _ended() -> NoReturn:
    raise ConnectionError("the connection ended inside its hello")


async def send_response(connection: socket.socket, response: direct_pb2.HelloResponse) -> None:
    """Sends the answer to a hello as a frame.

    Raises:
        OSError: The connection broke.
    """
    await asyncio.get_running_loop().sock_sendall(connection, response_frame(response))


def response_frame(response: direct_pb2.HelloResponse) -> bytes:
    """Returns the answer to a hello as a frame."""
    message = response.SerializeToString()
    return HEADER.pack(len(message), 0, 0) + message


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
