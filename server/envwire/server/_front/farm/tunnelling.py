"""The server's end of a tunnel: a call to a gateway that carries a connection from the gateway to this server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from envwire.farm.v1 import farm_pb2

_TUNNEL = "/envwire.farm.v1.FarmService/Tunnel"
#: Metadata key under which a call carries the key of its tunnel.
KEY = "envwire-tunnel-bin"


async def carry_connection(
    channel: Any, metadata: tuple[tuple[str, str], ...], key: bytes, port: tuple[str, int]
) -> None:
    """Waits until the gateway opens a connection, and carries it until it ends.

    Args:
        channel: Channel to the gateway.
        metadata: Metadata of the call.
        key: Key of the tunnel.
        port: Host and port of this server.

    Raises:
        grpc.RpcError: The gateway is unreachable, or refuses.
        OSError: This server does not accept connections at its port.
    """
    call = channel.stream_stream(_TUNNEL, _request, _data)(metadata=(*metadata, (KEY, key)))
    try:
        if first := await call.read():  # the side that connects speaks first
            reader, writer = await asyncio.open_connection(*port, limit=PIECE_BYTES)
            writer.write(first)
            await splice(reader, writer, call.read, call.write)
    finally:
        call.cancel()


def _request(data: bytes) -> bytes:
    return farm_pb2.TunnelRequest(data=data).SerializeToString()


def _data(response: bytes) -> bytes:
    return farm_pb2.TunnelResponse.FromString(response).data


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
