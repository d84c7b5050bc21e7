"""Where direct channels begin: connections are accepted here, and handed to the process that holds their session.

A connection shows the session's secret before anything else happens. Those that say nothing are given up after a
while, and only so many may be undecided at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import secrets
import socket
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason, encode_fault
from envwire.server._auth.tls import server_tls
from envwire.server._front.tls_relay import end_tls
from envwire.v1 import direct_pb2
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE

if TYPE_CHECKING:
    from envwire.server._front.sessions import Sessions
    from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")

_HELLO_SECONDS = 5.0
_HELLO_BYTES = 1024
_MOST_UNDECIDED = 256
_BACKLOG = 512
#: No more files can be opened, or memory had, for the moment.
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_SECONDS = 0.2
#: A client whose machine is gone is noticed after the sum of these.
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))


class DirectListener:
    """Accepts direct channels on TCP, and on a Unix socket for clients on this machine.

    Args:
        config: The server's settings.
        sessions: The sessions to look up.

    Attributes:
        addresses: Where clients connect, in the order to try.
    """

    def __init__(self, config: ServerConfig, sessions: Sessions) -> None:
        self._config = config
        self._sessions = sessions
        self._tls = server_tls(config)
        self._listeners: list[socket.socket] = []
        self._undecided: set[asyncio.Task[None]] = set()
        self.addresses: list[str] = []

    def start(self) -> None:
        """Binds and listens, unless the operator wants no direct channel.

        Raises:
            OSError: The port is taken.
        """
        if self._config.direct_port < 0:
            return
        self._listen(self._bind_unix())
        # Elsewhere than on loopback, firewalls and containers let through what somebody chose: a port by number.
        if self._config.direct_port or self._config.loopback:
            self._listen(self._bind_tcp())

    def _bind_unix(self) -> socket.socket:
        # An abstract name leaves no file behind, however the server ends.
        name = f"envwire-{secrets.token_hex(8)}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(f"\0{name}")
        self.addresses.append(f"unix-abstract:{name}")
        return listener

    def _bind_tcp(self) -> socket.socket:
        host, port = self._config.host, self._config.direct_port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            listener.close()
            raise OSError(f"cannot bind {host}:{port} for the direct channel: {error}") from error
        self.addresses.append(f":{listener.getsockname()[1]}")
        return listener

    def _listen(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        listener.listen(_BACKLOG)
        self._listeners.append(listener)
        asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            if error.errno in _NO_ROOM:
                self._pause(listener)
            return
        if len(self._undecided) >= _MOST_UNDECIDED:
            connection.close()
            return
        connection.setblocking(False)
        task = asyncio.ensure_future(self._decide(connection))
        self._undecided.add(task)
        task.add_done_callback(self._undecided.discard)

    def _pause(self, listener: socket.socket) -> None:
        """Accepts nothing for a while: a connection that cannot be taken would be reported again and again."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener)
        loop.call_later(_PAUSE_SECONDS, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    async def _decide(self, connection: socket.socket) -> None:
        local = connection.family == socket.AF_UNIX
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            if not local:
                connection = await asyncio.wait_for(self._prepared(connection), _HELLO_SECONDS)
            with connection:
                try:
                    await asyncio.wait_for(self._admit(connection, local), _HELLO_SECONDS)
                except FaultError as fault:
                    await _refuse(connection, fault)

    async def _prepared(self, connection: socket.socket) -> socket.socket:
        """Returns a plain socket to a client elsewhere, with TLS ended where there is any."""
        try:
            _set_options(connection)
            if self._tls is None:
                return connection
            return await end_tls(connection, self._tls.ssl_context())
        except BaseException:
            connection.close()
            raise

    async def _admit(self, connection: socket.socket, local: bool) -> None:
        hello = await _receive_hello(connection)
        session = self._sessions.find(hello.header.session_id, hello.header.secret)
        await session.admit(connection, hello.shared_memory and local)

    def stop(self) -> None:
        """Stops listening; open channels live as long as their sessions. Stopping twice is harmless."""
        for task in self._undecided:
            task.cancel()
        while self._listeners:
            listener = self._listeners.pop()
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()


def _set_options(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


async def _receive_hello(connection: socket.socket) -> direct_pb2.HelloRequest:
    """Reads what a connection begins with, and not a byte more: the rest is for the session.

    Raises:
        FaultError: MALFORMED_REQUEST.
        OSError: The connection broke.
    """
    if await _receive(connection, len(PREAMBLE)) != PREAMBLE:
        raise ConnectionError("not a direct channel")
    length, where, attached = HEADER.unpack(await _receive(connection, HEADER_BYTES))
    if length > _HELLO_BYTES or where or attached:
        raise FaultError(
            Reason.MALFORMED_REQUEST,
            f"a hello of {length} bytes; send a HelloRequest of at most {_HELLO_BYTES} bytes first",
        )
    try:
        return direct_pb2.HelloRequest.FromString(await _receive(connection, length))
    except DecodeError as error:
        raise FaultError(Reason.MALFORMED_REQUEST, f"not a HelloRequest: {error}") from error


async def _receive(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = await asyncio.get_running_loop().sock_recv(connection, length - len(data))
        if not more:
            raise ConnectionError("the connection ended inside its hello")
        data += more
    return data


async def _refuse(connection: socket.socket, fault: FaultError) -> None:
    response = direct_pb2.HelloResponse()
    encode_fault(fault, response.error)
    message = response.SerializeToString()
    frame = HEADER.pack(len(message), 0, 0) + message
    await asyncio.wait_for(
        asyncio.get_running_loop().sock_sendall(connection, frame), _HELLO_SECONDS
    )
