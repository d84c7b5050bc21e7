"""The server's end of a tunnel: a call to a gateway that carries a connection from the gateway to this server."""

from __future__ import annotations

import asyncio
from typing import Any

from envwire.farm.v1 import farm_pb2
from envwire.server._front.farm.splicing import PIECE_BYTES, splice

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
