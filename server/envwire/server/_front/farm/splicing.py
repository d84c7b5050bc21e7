"""Relays bytes between a connection and a gRPC call, in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

#: Largest message, in bytes.
PIECE_BYTES = 256 * 1024


async def splice(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    read: Callable[[], Awaitable[bytes]],
    write: Callable[[bytes], Awaitable[None]],
) -> None:
    """Relays until either side ends, then ends both.

    In each direction the next piece is read only after the last one was written, so the bytes in transit are bounded by
    the buffers of the connection and the HTTP/2 window of the call.

    Args:
        reader: Reads from the connection.
        writer: Writes to the connection.
        read: Reads from the call; a false value is the end.
        write: Writes to the call.
    """

    async def to_call() -> None:
        while data := await reader.read(PIECE_BYTES):
            await write(data)

    async def to_connection() -> None:
        while data := await read():
            writer.write(data)
            await writer.drain()

    ways = asyncio.ensure_future(to_call()), asyncio.ensure_future(to_connection())
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        writer.transport.abort()
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
