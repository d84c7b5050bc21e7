"""Keeps unauthenticated callers from filling the server's memory: gRPC gets little of a connection until one is known.

gRPC limits what a call's headers take only after the client has acknowledged the server's settings, which an attacker
does not do. Until then it keeps up to 16 MiB of them, which took 140 MiB a connection (gRPC 1.85). Nothing in it stops
reading earlier, so connections come here first. They are relayed to gRPC's own socket, which nobody else can reach.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

from envwire.server._front.pipe import PipeEnd
from envwire.server._front.ports import cannot_bind, set_options
from envwire.server._settings.listening import is_unspecified

#: Bytes that a connection may send until one of its callers is identified, by a token say. A TLS handshake takes 1 to 2
#: KiB of them, and the record with a call's headers up to 16 KiB, which nobody can read before it is whole. More would
#: cost more: a byte may name a field again, which takes 70 bytes of gRPC's memory and 4 us of the front.
UNAUTHENTICATED_BYTES = 20 * 2**10
#: Bytes that a connection may send in addition once a health check was answered, which takes 60 to 300.
_REFILL_BYTES = 512
_BACKLOG = 1024
#: Start of the names of the connections to gRPC; the client's address and a random part follow.
_NAME = "envwire/"
#: How a socket for IPv4 and IPv6 names addresses of IPv4.
_MAPPED = "::ffff:"
_PEER = f"unix-abstract:{_NAME}"


@dataclass(frozen=True)
class Patience:
    """How long strangers are borne, in seconds.

    Args:
        full: Time after which a connection that has sent all of its bytes is closed, unless a caller is identified
            meanwhile.
        silent: Silence after which a connection that has sent more than half of them is closed. A health probe then
            connects again, and does not reach the limit in the middle of a call.
        refill: Shortest time between two additions to them.
    """

    full: float = 5.0
    silent: float = 1.0
    refill: float = 0.1


PATIENCE = Patience()


def forwarded(peer: str) -> str:
    """Returns the name of a connection that was forwarded, ADDRESS/RANDOM; empty for others.

    Args:
        peer: gRPC's name of the other end. Only a forwarder can connect under one that begins like this.
    """
    name = peer.removeprefix(_PEER)
    return "" if name == peer else name


class _ClientEnd(PipeEnd):
    """The end that faces a client, which is a stranger at first.

    Args:
        opened: Called when there is a connection, with this end and the client's address.
        patience: How long a stranger is borne.
    """

    def __init__(self, opened: Callable[[_ClientEnd, str], None], patience: Patience) -> None:
        super().__init__()
        self._patience = patience
        self._opened = opened
        self._left: int | None = UNAUTHENTICATED_BYTES
        self._held = b""
        self._timer: asyncio.TimerHandle | None = None
        self._refilled_at = -math.inf

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        connection: socket.socket = transport.get_extra_info("socket")
        try:
            set_options(connection)
            address: str = connection.getpeername()[0]
        except OSError:
            # The client has left already, and uvloop closes nothing when this method raises.
            self.abort()
        else:
            self._opened(self, address.removeprefix(_MAPPED))

    def data_received(self, data: bytes) -> None:
        if self._left is None:
            self.relay(data)
            return
        passed, held = data[: self._left], data[self._left :]
        self._held += held
        self._left -= len(passed)
        self.relay(passed)
        if not self._left:
            self.pause_reading()
        if self._left < UNAUTHENTICATED_BYTES // 2:
            self._end_in(self._patience.silent if self._left else self._patience.full)

    def _end_in(self, seconds: float) -> None:
        self._keep()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)

    def _keep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def resume_reading(self) -> None:
        if self._left != 0:
            super().resume_reading()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def admit(self) -> None:
        """Relays everything from now on."""
        self._left = None
        self._keep()
        self.resume_reading()
        if self._held:
            self.relay(self._held)  # which pauses reading again if the other end does not keep up
            self._held = b""

    def refill(self) -> None:
        """Lets a stranger send some more, unless it has sent half already, or was allowed more a moment ago."""
        now = asyncio.get_running_loop().time()
        is_due = now >= self._refilled_at + self._patience.refill
        if self._left is not None and self._left >= UNAUTHENTICATED_BYTES // 2 and is_due:
            self._left = min(self._left + _REFILL_BYTES, UNAUTHENTICATED_BYTES)
            self._refilled_at = now

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._keep()


class Forwarder:
    """Accepts the connections of clients, and relays them to gRPC.

    Args:
        host: Address to bind.
        port: Port to bind; 0 for any free one.
        patience: How long strangers are borne.
    """

    def __init__(self, host: str, port: int, patience: Patience = PATIENCE) -> None:
        self._address = host, port
        self._patience = patience
        self._socket = -1
        self._server: asyncio.Server | None = None
        self._unauthenticated: WeakValueDictionary[str, _ClientEnd] = WeakValueDictionary()
        self._opening: set[asyncio.Task[None]] = set()

    def bind(self, add_port: Callable[[str], int]) -> None:
        """Binds gRPC to a Unix socket whose name is removed at once, so that only this process can connect to it.

        Args:
            add_port: Binds gRPC to an address.
        """
        with tempfile.TemporaryDirectory(prefix="envwire-") as directory:
            path = os.path.join(directory, "grpc")
            add_port(f"unix:{path}")
            self._socket = os.open(path, os.O_PATH | os.O_CLOEXEC)

    async def start(self) -> int:
        """Listens; returns the port.

        Raises:
            OSError: The address is in use or does not belong to this machine.
        """
        host, port = self._address
        both = is_unspecified(host) and socket.has_dualstack_ipv6()  # as gRPC does
        family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
        try:
            listener = socket.create_server(
                ("::" if both else host, port), family=family, dualstack_ipv6=both
            )
        except OSError as error:
            raise cannot_bind(host, port, "--port", error) from error
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _ClientEnd(self._open, self._patience), sock=listener, backlog=_BACKLOG
        )
        bound: int = listener.getsockname()[1]
        return bound

    def admit(self, connection: str) -> None:
        """Lets a connection send without limit, since one of its callers is identified.

        Args:
            connection: Its name, as `PeerIdentity` has it.
        """
        if client := self._unauthenticated.pop(connection, None):
            client.admit()

    def answered(self, connection: str) -> None:
        """Lets a stranger send some more, since gRPC has answered a call of its connection, and keeps nothing of it.

        Args:
            connection: Its name, as `PeerIdentity` has it.
        """
        if client := self._unauthenticated.get(connection):
            client.refill()

    def stop(self) -> None:
        """Stops listening; connections stay until gRPC closes them. Stopping twice is harmless."""
        for task in self._opening:
            task.cancel()
        if self._server is not None:
            self._server.close()
        if self._socket >= 0:
            os.close(self._socket)
            self._socket = -1

    def _open(self, client: _ClientEnd, address: str) -> None:
        task = asyncio.ensure_future(self._relay(client, address))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _relay(self, client: _ClientEnd, address: str) -> None:
        name, ours = f"{address}/{secrets.token_hex(8)}", PipeEnd()
        try:
            await self._connect(name, ours)
        except (OSError, asyncio.CancelledError):
            client.abort()
        else:
            self._unauthenticated[name] = client
            client.join(ours)

    async def _connect(self, name: str, end: PipeEnd) -> None:
        """Connects to gRPC, under a name that tells whose the connection is.

        Raises:
            OSError: gRPC has stopped, or no more files can be opened.
        """
        loop = asyncio.get_running_loop()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            connection.bind(f"\0{_NAME}{name}")
            await loop.sock_connect(connection, f"/proc/self/fd/{self._socket}")
            await loop.create_connection(lambda: end, sock=connection)
        except BaseException:
            connection.close()
            raise
