"""Tunnels to servers that the gateway cannot dial.

Such a server calls the gateway, and the call carries the bytes of one connection: that of the gateway's `Link`, which
dials a local Unix socket instead of the server's address. The rest of the gateway need not know about tunnels, and a
server can send nothing through its tunnel but answers to requests.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
import struct
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.registry.states import Member
from envwire.server._front.farm.tunnelling import KEY, PIECE_BYTES, splice
from envwire.server._front.grpc.edge import Context

#: Whom a Unix socket is connected to: process, user, group.
_PEER = struct.Struct("3i")


class _Tunnel:
    """The tunnel of one registration.

    Args:
        owner: Name of the client that registered the server.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.key = secrets.token_bytes(16)
        name = f"envwire-tunnel-{secrets.token_hex(8)}"
        self.target = f"unix-abstract:{name}"  # no file is left when the gateway is killed
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(f"\0{name}")
        self._listener.listen()
        self._listener.setblocking(False)
        self._carrier: asyncio.Task[None] | None = None

    async def carry(self, context: Context) -> None:
        """Carries the next connection until it ends.

        It ends an earlier call, if there is one: the server calls again after a break that the gateway may not have
        noticed yet.
        """
        self._stop()
        carrier = self._carrier = asyncio.ensure_future(self._carry(context))
        try:
            await asyncio.wait({carrier})
        finally:
            carrier.cancel()

    async def _carry(self, context: Context) -> None:
        connection = await self._accept()
        streams = await asyncio.open_unix_connection(sock=connection, limit=PIECE_BYTES)
        await splice(*streams, context.read, context.write)

    async def _accept(self) -> socket.socket:
        """Returns the next connection of the gateway itself: any process of the machine may dial."""
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
            if _PEER.unpack(peer)[0] == os.getpid():
                return connection
            connection.close()

    def _stop(self) -> None:
        if self._carrier is not None:
            self._carrier.cancel()

    def close(self) -> None:
        """Ends the tunnel and the connection that it carries."""
        self._stop()
        self._listener.close()


class Tunnels:
    """The tunnels of one gateway: one per registration of a server that needs it."""

    def __init__(self) -> None:
        self._open: set[_Tunnel] = set()

    @contextmanager
    def opened(self, member: Member) -> Generator[bytes]:
        """Opens a registration's tunnel and makes the gateway dial it.

        Args:
            member: The server.

        Yields:
            The tunnel's key; empty for a server that the gateway can dial.
        """
        if not member.hello.tunnelled:
            yield b""
            return
        tunnel = _Tunnel(member.owner)
        member.target = tunnel.target
        self._open.add(tunnel)
        try:
            yield tunnel.key
        finally:
            self._open.remove(tunnel)
            tunnel.close()

    def find(self, owner: str, context: Context) -> _Tunnel:
        """Returns the tunnel whose key a call carries.

        Args:
            owner: Name of the client that calls.
            context: The call.

        Raises:
            FaultError: UNAUTHENTICATED: there is no such tunnel, or another client registered its server.
        """
        shown: Any = dict(context.invocation_metadata() or ()).get(KEY, b"")
        for tunnel in self._open:
            if hmac.compare_digest(tunnel.key, shown) and tunnel.owner == owner:
                return tunnel
        raise FaultError(
            Reason.UNAUTHENTICATED,
            f"no server that {owner} registered has this tunnel key; register, and show the key of the answer",
        )
