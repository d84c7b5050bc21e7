"""Direct channels of clients that reach only the gateway: frames pass as bytes, and no step is a call of gRPC.

A client opens a channel at the gateway's direct port as at a server's. The gateway sends its hello to the session's
server, which checks it, and connects here with the key of this client. From then on bytes pass between the two
connections. The gateway connects to nobody, and reads nothing but the hello.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
from collections import Counter
from collections.abc import Callable

from envwire.codec import FaultError
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.orders.outbox import UnansweredError
from envwire.farm.gateway.orders.registrations import Registration, Registrations
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.relaying.links import ServerGoneError
from envwire.farm.gateway.relaying.routing import Routes
from envwire.server._auth.reloading import server_tls
from envwire.server._front.hello_frames import (
    KEY_BYTES,
    MOST_OPENING,
    RELAY_PREAMBLE,
    receive_hello_frame,
    response_frame,
)
from envwire.server._front.pipe import PipeEnd
from envwire.server._front.ports import Acceptor, Bounds, cannot_bind, set_options
from envwire.server._ipc.refusals import fault_reply, malformed
from envwire.v1 import direct_pb2, status_pb2
from envwire.wire.frames import PREAMBLE

_log = logging.getLogger("envwire.gateway")

_HELLO_SECONDS = 5.0
#: Connections that have not shown yet whose they are, as at a server.
_BOUNDS = Bounds(of_all=256, of_a_peer=256)
#: What a client that was refused may still send, and for how many seconds: closed at once, its connection would be
#: reset, and a client that is still sending would never see the refusal.
_DISCARDED = 1 << 16, 1.0


class _End(PipeEnd):
    """One end of a channel.

    Args:
        lost: Called with this end when its connection is closed.

    Attributes:
        run: The run of the server of its session; empty before that is known.
    """

    def __init__(self, lost: Callable[[_End], None]) -> None:
        super().__init__()
        self.run = ""
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._lost(self)


class ChannelRelay:
    """Accepts clients and servers on the gateway's direct port, and joins each client with its session's server.

    Args:
        config: The gateway's settings.
        routes: Finds the server of a session.
        registrations: Carry orders to servers.

    Attributes:
        port: The port; 0 if there is none.
    """

    def __init__(self, config: GatewayConfig, routes: Routes, registrations: Registrations) -> None:
        self._config = config
        self._routes = routes
        self._registrations = registrations
        self._tls = server_tls(config)
        self._acceptor = Acceptor(self._serve, _BOUNDS)
        #: The registrations whose servers are to connect here, by key.
        self._ordered: dict[bytes, Registration] = {}
        self._ends: set[_End] = set()
        #: Clients that wait for a server, and the channels of each, by its run.
        self._waiting: Counter[str] = Counter()
        self._channels: Counter[str] = Counter()
        self.port = 0

    def start(self) -> None:
        """Binds and listens, unless direct channels are switched off.

        Raises:
            OSError: The port is in use.
        """
        host, port = self._config.host, self._config.direct_port
        # Beyond loopback, firewalls and containers only pass ports that somebody configured by number.
        if port < 0 or not (port or self._config.loopback):
            return
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise cannot_bind(host, port, "--direct-port", error) from error
        self.port = listener.getsockname()[1]
        self._acceptor.listen(listener)

    def offers(self, member: Member) -> bool:
        """Returns whether clients can open direct channels to a server here."""
        return bool(self.port) and member.hello.dials_channels

    async def _serve(self, connection: socket.socket) -> None:
        """Serves a connection until it is known whose it is, and joined."""
        end = _End(self._forget)
        self._ends.add(end)
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            try:
                await asyncio.wait_for(self._begin(end, connection), _HELLO_SECONDS)
                await self._meet(end)
            except BaseException:
                end.close()
                self._ends.discard(end)
                raise

    async def _begin(self, end: _End, connection: socket.socket) -> None:
        """Makes a connection an end, with TLS if the gateway has certificates."""
        tls = self._tls.get().context if self._tls else None
        try:
            set_options(connection)
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(lambda: end, connection, ssl=tls)
        except BaseException:
            connection.close()
            raise

    async def _meet(self, end: _End) -> None:
        """Reads whose connection it is: a client's, or that of a server that was told to connect here."""
        preamble = await asyncio.wait_for(end.read(len(PREAMBLE)), _HELLO_SECONDS)
        if preamble == RELAY_PREAMBLE:
            key = await asyncio.wait_for(end.read(KEY_BYTES), _HELLO_SECONDS)
            ordered = self._ordered.pop(key, None)
            if ordered is None or not ordered.take_channel(key, end):
                raise ConnectionError("an unknown key, or one that was used or is too old")
        elif preamble == PREAMBLE:
            try:
                hello = await asyncio.wait_for(receive_hello_frame(end.read), _HELLO_SECONDS)
                await self._connect(end, hello)
            except FaultError as fault:
                await _refuse(end, fault_reply(fault).error)
        else:
            raise ConnectionError("not a direct channel")

    async def _connect(self, client: _End, hello: direct_pb2.HelloRequest) -> None:
        """Joins a client with its session's server.

        Without an answer the client's connection is closed, and the client tries again: that a server is silent says
        nothing about the session.

        Raises:
            FaultError: The session is over, or the server refused.
            ConnectionError: The server did not connect.
        """
        if hello.HasField("make") or not hello.HasField("header"):
            raise malformed(
                "sessions are made over the gateway's gRPC port; a hello with the header of one"
            )
        try:
            member = await self._routes.owner(hello.header.session_id)
            answer = await self._answer(member, hello)
        except (ServerGoneError, UnansweredError) as error:
            _log.info("no direct channel to session %s: %s", hello.header.session_id, error)
            raise ConnectionError from error
        if isinstance(answer, PipeEnd):
            client.run = member.incarnation
            self._channels[client.run] += 1
            client.join(answer)
        else:
            await _refuse(client, answer)

    async def _answer(
        self, member: Member, hello: direct_pb2.HelloRequest
    ) -> PipeEnd | status_pb2.ErrorStatus:
        """Has a server connect here for a client; returns the connection, or the server's refusal.

        Raises:
            UnansweredError: It did not connect.
        """
        registration, run = self._registrations.for_channels(member), member.incarnation
        if registration is None:
            raise UnansweredError("its server is not registered here")
        # A session has one channel, and a second one for a moment when the first is dead.
        if self._waiting[run] >= MOST_OPENING or self._channels[run] >= 2 * member.capacity:
            raise UnansweredError(
                f"its server has {self._channels[run]} channels here, and {self._waiting[run]} clients wait for it"
            )
        key = secrets.token_bytes(KEY_BYTES)
        self._ordered[key] = registration
        self._waiting[run] += 1
        try:
            return await registration.open_channel(key, self.port, hello)
        finally:
            self._ordered.pop(key, None)
            _subtract(self._waiting, run)

    def _forget(self, end: _End) -> None:
        self._ends.discard(end)
        if end.run:
            _subtract(self._channels, end.run)

    def stop(self) -> None:
        """Stops listening, and closes all channels: their clients connect again, to a gateway that is there."""
        self._acceptor.stop()
        for end in tuple(self._ends):
            end.close()


def _subtract(counts: Counter[str], run: str) -> None:
    """Counts one less of a server's run, of which there are many in time."""
    counts[run] -= 1
    if not counts[run]:
        del counts[run]


async def _refuse(client: PipeEnd, error: status_pb2.ErrorStatus) -> None:
    """Sends a client the refusal, and closes its connection."""
    client.write(response_frame(direct_pb2.HelloResponse(error=error)))
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        size, seconds = _DISCARDED
        await asyncio.wait_for(client.read(size), seconds)
    client.close()
