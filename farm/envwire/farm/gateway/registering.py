"""Registrations of servers: the hello, reports from the server, orders to it, and its tunnel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

from envwire.codec import FaultError
from envwire.codec.messages import to_duration
from envwire.farm.gateway.allocation.tickets import TicketSigner
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.hellos import (
    PROTOS,
    address_of,
    check_room,
    parse_hello,
    parse_load,
    parse_report,
)
from envwire.farm.gateway.orders.outbox import Outbox
from envwire.farm.gateway.orders.registrations import Registration, Registrations
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.registry.succession import DuplicateServerError
from envwire.farm.gateway.relaying.tunnels import Tunnels
from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.client import Client
from envwire.server._front.grpc.edge import Context, abort_unauthenticated, peer_identity
from envwire.server._ipc.refusals import malformed

#: Longest time between two reports of a server, in seconds.
HEARTBEAT_SECONDS = 1.0
#: Longest wait for a server's hello, in seconds; a server sends it as soon as it is connected.
_HELLO_SECONDS = 10.0
#: A server that reports, but answers no order for this many seconds, must register again: gRPC buffers 4 MB that the
#: server does not read, and the outbox holds the rest.
_UNANSWERED_SECONDS = 5.0


class Registering:
    """Serves FarmService.Register and Tunnel.

    Args:
        config: The gateway's settings.
        access: Identifies servers.
        registry: The registry of servers.
        registrations: The open registrations.
        signer: Signs the tickets that servers accept.
        incarnation: Identifies this run of the gateway.
        clock: Monotonic time, in seconds.
    """

    def __init__(
        self,
        config: GatewayConfig,
        access: Access,
        registry: Registry,
        registrations: Registrations,
        signer: TicketSigner,
        incarnation: str,
        clock: Callable[[], float],
    ) -> None:
        self._access = access
        #: Without tokens the operator trusts the network, and every server may join.
        self._open = config.insecure and not config.tokens and not config.tls_client_ca
        #: Each server's certificate is verified when the gateway connects.
        self._verifies = bool(config.server_ca)
        self._registry = registry
        self._registrations = registrations
        self._tunnels = Tunnels()
        self._signer = signer
        self._incarnation = incarnation
        self._clock = clock

    async def serve(self, _: Any, context: Context) -> None:
        """Serves one registration."""
        try:
            member = await self._admit(context)
        except FaultError as fault:
            await abort_unauthenticated(context, fault)
        except DuplicateServerError as error:
            await context.abort(grpc.StatusCode.ALREADY_EXISTS, str(error))
        # At once: a Make that waited for the server reserves its slot over the registration.
        registration = Registration(self._clock)
        self._registrations.add(member, registration)
        try:
            with self._tunnels.opened(member) as tunnel_key:
                answer = self._answer(tunnel_key)
                await context.write(answer)
                await self._carry(member, registration, context)
                # The requests also end when the connection breaks, but only a server that says goodbye can be answered.
                await context.write(answer)
            self._registry.leave(member, self._clock())
        except FaultError as fault:
            await abort_unauthenticated(context, fault)
        finally:
            self._registrations.remove(member, registration)
            self._registry.disconnect(member, self._clock())

    async def serve_tunnel(self, _: Any, context: Context) -> None:
        """Serves one call of Tunnel, which carries one connection."""
        try:
            client = self._identify(peer_identity(context, self._access))
            tunnel = self._tunnels.find(client.name, context)
        except FaultError as fault:
            await abort_unauthenticated(context, fault)
        await tunnel.carry(context)
        await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection ended; call again")

    def _answer(self, tunnel_key: bytes) -> bytes:
        return pb.RegisterResponse(
            incarnation=self._incarnation,
            heartbeat=to_duration(HEARTBEAT_SECONDS),
            ticket_key=self._signer.public_key,
            ticket_clock=self._signer.now,
            tunnel_key=tunnel_key,
        ).SerializeToString()

    def _identify(self, peer: PeerIdentity) -> Client:
        """Returns the client as which a server authenticates.

        Raises:
            FaultError: The server may not join.
        """
        client = self._access.identify(peer)
        if not self._open:
            client.check("register")
        return client

    async def _admit(self, context: Context) -> Member:
        """Enters a server in the registry.

        Raises:
            FaultError: The server may not join.
            DuplicateServerError: The server would replace another one.
        """
        peer = peer_identity(context, self._access)
        client = self._identify(peer)
        hello = parse_hello(await _read_hello(context))
        address = address_of(hello, peer)
        client.check_server(hello.server_id, address)
        check_room(hello, self._registry.members)
        proven = self._verifies or bool(client.servers.addresses)
        return self._registry.register(hello, address, self._clock(), client.name, proven=proven)

    async def _carry(self, member: Member, registration: Registration, context: Context) -> None:
        """Carries orders and reports until the reports end."""
        ordering = asyncio.ensure_future(_send_orders(registration.outbox, context))
        try:
            await self._follow(member, registration, context)
        finally:
            ordering.cancel()
            await asyncio.wait({ordering})

    async def _follow(self, member: Member, registration: Registration, context: Context) -> None:
        """Records a server's reports until they end.

        A server that was found dead, or answers no orders, must register again.

        Raises:
            FaultError: A report is too large, or malformed.
        """
        while True:
            message: Any = await context.read()
            if message is grpc.aio.EOF:
                return
            now = self._clock()
            if member.dead:
                await context.abort(grpc.StatusCode.ABORTED, "silent for too long; register again")
            report = parse_report(message)
            if registration.take_answer(report):
                continue
            self._registry.report(member, parse_load(report), now)
            if registration.silence > _UNANSWERED_SECONDS:
                await context.abort(
                    grpc.StatusCode.ABORTED,
                    f"no order was answered for {_UNANSWERED_SECONDS:g} s; obey, and register again",
                )


async def _send_orders(outbox: Outbox, context: Context) -> None:
    while True:
        await context.write(await outbox.next())
        outbox.sent()


async def _read_hello(context: Context) -> bytes:
    """Reads the first message of a registration.

    Raises:
        FaultError: MALFORMED_REQUEST: it does not arrive in time.
    """
    try:
        message: Any = await asyncio.wait_for(context.read(), _HELLO_SECONDS)
    except asyncio.TimeoutError:
        raise malformed(f"no hello within {_HELLO_SECONDS:g} s", PROTOS) from None
    return b"" if message is grpc.aio.EOF else message
