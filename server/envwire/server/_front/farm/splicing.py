"""Passes the bytes of a connection on over a call, and those of the call over the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

#: Most bytes of one message.
PIECE_BYTES = 256 * 1024


async def splice(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    read: Callable[[], Awaitable[bytes]],
    write: Callable[[bytes], Awaitable[None]],
) -> None:
    """Returns when either has ended; both have ended then.

    Each way one piece at a time is passed on, and the next one is read when that was taken: what waits is bounded by
    the buffers of the connection and by the HTTP/2 window of the call.

    Args:
        reader: Reads from the connection.
        writer: Writes to it.
        read: Reads from the call; what is false is its end.
        write: Writes to it.
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
