"""The server's end of a tunnel: a call to a gateway carries a connection that the gateway opens to this server."""

from __future__ import annotations

import asyncio
from typing import Any

from envwire.farm.v1 import farm_pb2
from envwire.server._front.farm.splicing import PIECE_BYTES, splice

_TUNNEL = "/envwire.farm.v1.FarmService/Tunnel"
_KEY = "envwire-tunnel-bin"


async def carry_connection(
    channel: Any, metadata: tuple[tuple[str, str], ...], key: bytes, port: tuple[str, int]
) -> None:
    """Waits until the gateway opens a connection, and carries it until it ends.

    Args:
        channel: To the gateway.
        metadata: What the server shows it.
        key: Of the tunnel.
        port: Host and port of this server.

    Raises:
        grpc.RpcError: The gateway is not there, or refuses.
        OSError: This server is not at its port.
    """
    call = channel.stream_stream(_TUNNEL, _request, _data)(metadata=(*metadata, (_KEY, key)))
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
