"""EnvironmentService of the gateway: places Makes, and relays requests of sessions to their servers.

A client that follows the `address` in the answer to its Make talks to that server from then on. The messages of other
clients are relayed; only the session's id in them is read.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.groups.groups import Groups
from envwire.farm.gateway.makes.making import Maker
from envwire.farm.gateway.registry.quotas import Quotas
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.registry.summaries import describe, list_environments
from envwire.farm.gateway.relaying.channels import ChannelRelay
from envwire.farm.gateway.relaying.links import Answer, Metadata, RefusedError, ServerGoneError
from envwire.farm.gateway.relaying.routing import ROUTED, Routes
from envwire.farm.gateway.relaying.streaming import Upstreams, address_for, redirect
from envwire.server._auth.access import Access
from envwire.server._auth.client import Client
from envwire.server._front.grpc.edge import (
    RESERVATION_KEY,
    Context,
    abort,
    abort_unauthenticated,
    answer_deadline,
    peer_identity,
)
from envwire.server._front.grpc.services import method_handlers, read_message
from envwire.server._ipc.refusals import fault_reply, malformed
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import REQUESTS

#: Deadline of calls without one, in seconds: longer than any request may take on a server by default.
_MAX_SECONDS = 900.0
#: Metadata that is forwarded to servers: the token, which they check as well, and the trace of the call.
_FORWARDED = frozenset({"authorization", "traceparent", "tracestate"})


@dataclass(eq=False)
class EnvironmentService:
    """Serves EnvironmentService for a farm.

    Args:
        access: Identifies clients.
        registry: The servers.
        routes: The connections to them.
        channels: Direct channels to them, through the gateway.
        maker: Finds servers for Makes.
        quotas: The quotas of clients.
        incarnation: Identifies this run of the gateway.
        clock: Monotonic time, in seconds.
        max_make_bytes: Largest Make, in bytes.
        groups: The groups of servers that start on demand.
    """

    _access: Access
    _registry: Registry
    _routes: Routes
    _channels: ChannelRelay
    _maker: Maker
    _quotas: Quotas
    _incarnation: str
    _clock: Callable[[], float]
    _max_make_bytes: int
    _groups: Groups

    def handlers(self) -> grpc.GenericRpcHandler:
        """Returns the gRPC handlers."""
        return method_handlers(
            lambda method, kind: partial(self._unary, method, kind), self._interact
        )

    async def _unary(self, method: str, kind: str, _: Any, context: Context) -> bytes:
        try:
            client = self._access.identify(peer_identity(context, self._access))
            client.check(kind)
        except FaultError as fault:
            await abort_unauthenticated(context, fault)
        message = await read_message(context)
        try:
            answer = await self._answer(method, kind, message, context, client)
        except FaultError as fault:
            await abort(context, fault_reply(fault).error)
        except RefusedError as error:
            await context.abort(error.code, str(error), error.trailers)
        except ServerGoneError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        except DecodeError as error:
            await abort(context, fault_reply(malformed(str(error))).error)
        if answer.trailers:
            context.set_trailing_metadata(answer.trailers)
        return answer.message

    async def _answer(
        self, method: str, kind: str, message: bytes, context: Context, client: Client
    ) -> Answer:
        timeout = _time_left(context)
        reservation = self._reservation(client) if kind == "make" else b""
        metadata = _metadata(context, reservation)

        async def send(member: Member) -> Answer:
            return await self._routes.link(member).call(method, message, metadata, timeout)

        async def make(member: Member) -> Answer:
            made = await self._routes.link(member).while_answering(send(member))
            address = address_for(member, metadata)
            return Answer(self._redirected(made.message, member, address), made.trailers)

        if kind == "make":
            self._check_size(message)
            client = replace(client, deadline=answer_deadline(context))
            return await self._maker.make(
                pb.MakeRequest.FromString(message), make, client, reservation
            )
        if kind in ROUTED:
            return await send(await self._routes.find(kind, REQUESTS.wrap(kind, message)))
        return Answer(getattr(self._summary(kind), kind).SerializeToString(), ())

    def _redirected(self, made: bytes, member: Member, address: str) -> bytes:
        if address:  # appended to a message it is merged with it, unparsed
            return made + pb.MakeResponse(address=address).SerializeToString()
        response = pb.MakeResponse.FromString(made)
        redirect(response, member, address, self._channels)
        return response.SerializeToString()

    async def _interact(self, _: Any, context: Context) -> None:
        upstreams: Upstreams | None = None
        try:
            identify = self._access.follow(peer_identity(context, self._access))
            # One is enough: a stream makes one at a time.
            reservation = self._reservation(identify())
            metadata = _metadata(context, reservation)
            upstreams = Upstreams(self._routes, self._channels, metadata, reservation)
            while True:
                message: Any = await context.read()
                if message is grpc.aio.EOF:
                    return
                client = identify()
                client.check(REQUESTS.kind(message))
                await context.write(await self._reply(message, upstreams, client))
        except FaultError as fault:
            await abort_unauthenticated(context, fault)
        except ServerGoneError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        finally:
            if upstreams is not None:
                upstreams.end()

    async def _reply(self, message: bytes, upstreams: Upstreams, client: Client) -> bytes:
        """Returns the reply to a request on a stream; errors are replies as well.

        Raises:
            ServerGoneError: The session's server did not answer, so the stream cannot continue.
        """
        try:
            return await self._served(message, upstreams, client)
        except FaultError as fault:
            return fault_reply(fault).SerializeToString()
        except RefusedError as error:
            if error.status is None:
                raise ServerGoneError(str(error)) from error
            return pb.InteractResponse(error=error.status).SerializeToString()
        except (DecodeError, ValueError) as error:
            return fault_reply(malformed(str(error))).SerializeToString()

    async def _served(self, message: bytes, upstreams: Upstreams, client: Client) -> bytes:
        kind = REQUESTS.kind(message)
        if kind in ROUTED:
            return await upstreams.ask(await self._routes.find(kind, message), message)
        if kind != "make":
            return self._summary(kind).SerializeToString()
        self._check_size(message)
        request = pb.InteractRequest.FromString(message).make
        send = partial(upstreams.make, message)
        return await self._maker.make(request, send, client, upstreams.reservation)

    def _reservation(self, client: Client) -> bytes:
        """Returns the id under which a server keeps a slot for a Make; empty if none is kept for it."""
        if client.reservation:
            return client.reservation  # the client allocated it
        return secrets.token_bytes(16) if self._quotas.of(client) else b""

    def _summary(self, kind: str) -> pb.InteractResponse:
        now = self._clock()
        members = [each for each in self._registry if not each.dead]
        if kind == "list_environments":
            return pb.InteractResponse(
                list_environments=list_environments(members, self._groups.listings())
            )
        if kind == "get_server_info":
            info = describe(members, self._incarnation, now)
            info.max_sessions += self._groups.slots_to_come
            return pb.InteractResponse(get_server_info=info)
        raise malformed("a request without content, or of a kind that is not known here")

    def _check_size(self, message: bytes) -> None:
        if len(message) > self._max_make_bytes:
            raise FaultError(
                Reason.MESSAGE_TOO_LARGE,
                f"a Make of {len(message)} bytes, and {self._max_make_bytes} are accepted; the operator raises the "
                "number with --max-make-bytes",
            )


def _forwarded(context: Context) -> tuple[tuple[str, str], ...]:
    return tuple(
        (key, str(value)) for key, value in context.invocation_metadata() or () if key in _FORWARDED
    )


def _metadata(context: Context, reservation: bytes) -> Metadata:
    """Returns the metadata for servers: the forwarded keys, and the id under which they keep a slot."""
    shown = _forwarded(context)
    return (*shown, (RESERVATION_KEY, reservation)) if reservation else shown


def _time_left(context: Context) -> float:
    left: Any = context.time_remaining()  # None without a deadline, despite its type hint
    return _MAX_SECONDS if left is None else min(left, _MAX_SECONDS)
