"""Listens on the direct port and hands each connection to the process that holds its session.

A connection begins with a session's secret, or with the credentials of a client that asks for a session. Connections
that send neither are closed after a timeout, and their number is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from envwire.codec import FaultError, Reason, encode_fault
from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.reloading import server_tls
from envwire.server._front.hello_frames import (
    discard,
    receive,
    receive_frame,
    receive_hello,
    send_response,
)
from envwire.server._front.pipe import end_tls
from envwire.server._front.ports import Acceptor, Bounds, cannot_bind, set_options
from envwire.server._front.sessions.table import Exchange, Sessions
from envwire.server._ipc.frames import ChannelUse, Encode
from envwire.server._settings.listening import is_loopback
from envwire.server.config import ServerConfig
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.encodings import ENCODINGS
from envwire.wire.envelope import REQUESTS, RESPONSES

_log = logging.getLogger("envwire.server")

_HELLO_SECONDS = 5.0
#: Connections that have not said yet whose they are. A client's vector environment opens one for each session at once.
_BOUNDS = Bounds(of_all=256, of_a_peer=256)
#: Bytes of an abstract socket's name: what `sockaddr_un` holds, without the zero before it.
_FULL_NAME = 107
#: Bytes that a refused client may still send, which are discarded, and seconds for them. Closing at once would reset
#: the connection, and a client that is still sending would never see the refusal.
_DISCARDED_OF_STRANGERS = 1 << 20, 1.0
_DISCARDED_OF_CLIENTS = 1 << 26, 5.0
#: The kinds of devices, with the lengths of their UUIDs.
_DEVICES = {direct_pb2.DEVICE_KIND_HOST: 0, direct_pb2.DEVICE_KIND_CUDA: 16}


@dataclass
class Peer:
    """A connected client.

    Attributes:
        connection: A plain socket to the client.
        client: The client's own socket: the same, or the one that TLS runs over.
        address: Its address; empty for a client on this machine's Unix socket.
        certificate: Subject of the certificate that TLS verified; empty for none.
        discarded: How many bytes it may still send after a refusal, and for how many seconds.
    """

    connection: socket.socket
    client: socket.socket
    address: str = ""
    certificate: str = ""
    discarded: tuple[int, float] = _DISCARDED_OF_STRANGERS


def _nothing() -> None:
    """Prepares for nothing."""


class DirectListener:
    """Accepts direct channels on TCP, and on a Unix socket for clients on this machine.

    Args:
        config: The server's settings.
        sessions: The sessions to look up.
        access: Identifies the clients that ask for a session.
        exchange: Serves their Makes, as over gRPC.
        fork_ahead: Prepares for the next Make, which would wait for a process behind the network's round trips.
        bounds: How many connections may be undecided.

    Attributes:
        addresses: Addresses for clients, in the order to try.
    """

    def __init__(
        self,
        config: ServerConfig,
        sessions: Sessions,
        access: Access,
        exchange: Exchange,
        fork_ahead: Callable[[], None] = _nothing,
        bounds: Bounds = _BOUNDS,
    ) -> None:
        self._config = config
        self._sessions = sessions
        self._access = access
        self._exchange = exchange
        self._fork_ahead = fork_ahead
        self._tls = server_tls(config)
        self._acceptor = Acceptor(self._decide, bounds)
        self._identified_tasks: set[asyncio.Task[Any]] = set()
        self.addresses: list[str] = []

    def start(self) -> None:
        """Binds and listens, unless direct channels are switched off.

        Raises:
            OSError: The port is in use.
        """
        if self._config.direct_port < 0:
            return
        self._acceptor.listen(self._bind_unix())
        # Beyond loopback, firewalls and containers only pass ports that somebody configured by number.
        if self._config.direct_port or self._config.loopback:
            self._acceptor.listen(self._bind_tcp())

    def _bind_unix(self) -> socket.socket:
        # An abstract socket leaves no file behind, however the server ends. Node.js 20 pads names with zeros, and so
        # reaches only those of full length.
        name = f"envwire-{secrets.token_hex(8)}".ljust(_FULL_NAME, "-")
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
            raise cannot_bind(host, port, "--direct-port", error) from error
        self.addresses.append(f":{listener.getsockname()[1]}")
        return listener

    async def _decide(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            peer = await asyncio.wait_for(self._prepared(connection), _HELLO_SECONDS)
            with peer.connection:
                try:
                    await self._admit(peer)
                except FaultError as fault:
                    await _refuse(peer, fault)

    async def _prepared(self, connection: socket.socket) -> Peer:
        """Returns a plain socket to a client, terminating TLS if it is used."""
        try:
            if connection.family == socket.AF_UNIX:
                return Peer(connection, connection)
            set_options(connection)
            address = str(connection.getpeername()[0])
            if self._tls is None:
                return Peer(connection, connection, address)
            plain, client, certificate = await end_tls(connection, self._tls.get().context)
            return Peer(plain, client, address, certificate)
        except BaseException:
            connection.close()
            raise

    async def _admit(self, peer: Peer) -> None:
        """Hands a connection over to the session that its hello names or asks for."""
        connection, local = peer.connection, not peer.address
        hello = await asyncio.wait_for(receive_hello(partial(receive, connection)), _HELLO_SECONDS)
        owner = hello.header
        if hello.HasField("make") is hello.HasField("header"):
            raise _neither_or_both(hello)
        if hello.HasField("make"):
            response = await self._make(peer, hello.make)
            await asyncio.wait_for(send_response(connection, response), _HELLO_SECONDS)
            if response.HasField("error"):
                return
            made = response.made
            owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        session = self._sessions.find(owner.session_id, owner.secret)
        self._identified()
        use = _memory_use(hello) if local else ChannelUse(encode=_encode(hello))
        admitting = session.admit(connection, peer.client, use)
        await asyncio.wait_for(admitting, _HELLO_SECONDS)
        if hello.HasField("make") and not (local or is_loopback(peer.address)):
            self._fork_ahead()

    async def admit_through_gateway(
        self, hello: direct_pb2.HelloRequest, connecting: Coroutine[Any, Any, Peer]
    ) -> None:
        """Hands a connection to a gateway over to the session that the hello of a client behind it names.

        Args:
            hello: The client's hello.
            connecting: Connects to the gateway, once the client has shown that the session is its own.

        Raises:
            FaultError: There is no such session of the client; nothing was connected.
            OSError: The gateway cannot be reached.
            asyncio.TimeoutError: It, or the session's process, takes too long.
        """
        try:
            session = self._sessions.find(hello.header.session_id, hello.header.secret)
        except FaultError:
            connecting.close()
            raise
        peer = await connecting
        with peer.connection:
            use = ChannelUse(encode=_encode(hello))
            admitting = session.admit(peer.connection, peer.client, use)
            try:
                await asyncio.wait_for(admitting, _HELLO_SECONDS)
            except FaultError as fault:
                await _refuse(peer, fault)

    def _identified(self) -> None:
        """Stops counting the current connection among those of strangers."""
        if task := asyncio.current_task():
            self._acceptor.newcomers.discard(task)
            self._identified_tasks.add(task)
            task.add_done_callback(self._identified_tasks.discard)

    async def _make(self, peer: Peer, hello: direct_pb2.MakeHello) -> direct_pb2.HelloResponse:
        """Makes a session for a client, which is authenticated before its Make is read."""
        authorization = f"Bearer {hello.token}" if hello.token else ""
        shown = PeerIdentity(peer.address, peer.certificate, authorization)
        client = self._access.identify(shown)
        peer.discarded = _DISCARDED_OF_CLIENTS
        read = partial(receive, peer.connection)
        reading = receive_frame(read, self._config.max_make_bytes, "MakeRequest")
        request = await asyncio.wait_for(reading, _HELLO_SECONDS)
        # No timeout from here on: a Make takes as long as the environment needs.
        self._identified()
        reply = await self._exchange(REQUESTS.wrap("make", request), None, client)
        kind, content = RESPONSES.unwrap(reply)
        response = direct_pb2.HelloResponse()
        answer = response.made if kind == "make" else response.error
        answer.MergeFromString(content)
        return response

    def stop(self) -> None:
        """Stops listening; open channels remain until their sessions end. Stopping twice is harmless."""
        self._acceptor.stop()
        for task in self._identified_tasks:
            task.cancel()


def _memory_use(hello: direct_pb2.HelloRequest) -> ChannelUse:
    """Returns what memory a client on this machine can use; a device of a kind that is unknown here is none."""
    kind, uuid = hello.device.kind, hello.device.uuid
    if kind not in _DEVICES or len(uuid) != _DEVICES[kind]:
        kind, uuid = direct_pb2.DEVICE_KIND_UNSPECIFIED, b""
    return ChannelUse(hello.shared_memory, hello.mailbox, kind, uuid)


def _encode(hello: direct_pb2.HelloRequest) -> Encode:
    """Returns when attachments are encoded for a client elsewhere; never if it cannot read all encodings."""
    if not set(ENCODINGS) <= set(hello.encodings):
        return Encode.NEVER
    return Encode.IF_SMALLER if hello.encode_always else Encode.IF_SOONER


def _neither_or_both(hello: direct_pb2.HelloRequest) -> FaultError:
    what = "both header and make" if hello.HasField("make") else "neither header nor make"
    return FaultError(
        Reason.MALFORMED_REQUEST,
        f"a HelloRequest with {what}; send the header of a session that there is, or make for a new one",
    )


async def _refuse(peer: Peer, fault: FaultError) -> None:
    """Sends a client the refusal, and shuts down the sending half of the connection unless TLS is used."""
    response = direct_pb2.HelloResponse()
    encode_fault(fault, response.error)
    await asyncio.wait_for(send_response(peer.connection, response), _HELLO_SECONDS)
    if peer.connection is peer.client:
        peer.connection.shutdown(socket.SHUT_WR)
    await discard(peer.connection, *peer.discarded)
