"""The gRPC server: connects the services, health and reflection to the front.

A watcher of ObserveService that does not read is dropped, and never delays anyone else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection

from envwire.admin.v1 import admin_pb2
from envwire.codec import FaultError, Reason
from envwire.codec.errors.statuses import TRAILER
from envwire.observe.v1 import observe_pb2
from envwire.server._auth.access import Access
from envwire.server._auth.client import Client
from envwire.server._front.front import Front
from envwire.server._front.grpc.edge import (
    Context,
    GrpcPort,
    abort,
    abort_unauthenticated,
    answer_deadline,
    options,
    peer_identity,
)
from envwire.server._front.grpc.services import (
    SERVICE,
    Health,
    method_handlers,
    read_message,
    refusing,
    request_of,
    scoped_methods,
)
from envwire.server._front.grpc.tracing import tracing
from envwire.server._front.observing import Identify, ObserveService
from envwire.server._front.sessions.table import Exchange, Stream
from envwire.server._ipc.refusals import PROTOS
from envwire.server.config import ServerConfig
from envwire.v1 import status_pb2
from envwire.wire.envelope import REQUESTS, RESPONSES

OBSERVE_SERVICE = observe_pb2.DESCRIPTOR.services_by_name["ObserveService"].full_name
_PROTOS = "envwire/observe/v1"
#: Seconds for which a watcher may leave a message unread before it is dropped.
_UNREAD_SECONDS = 10.0

_Stream = Callable[[bytes, Identify], AsyncGenerator[Any]]


def watching_handlers(service: ObserveService, access: Access) -> grpc.GenericRpcHandler:
    """Returns the gRPC handlers of ObserveService.

    Args:
        service: Serves the requests.
        access: Identifies callers.
    """
    handlers: dict[str, Any] = {
        "Watch": grpc.stream_stream_rpc_method_handler(
            partial(_call, access, "watch", service.watch)
        ),
        "WatchFrames": grpc.stream_stream_rpc_method_handler(
            partial(_call, access, "watch_frames", service.watch_frames)
        ),
        **scoped_methods(access, {"describe_session": service.describe_session}, _PROTOS),
    }
    return grpc.method_handlers_generic_handler(OBSERVE_SERVICE, handlers)


def _identify(access: Access, context: Context, kind: str) -> Identify:
    """Returns a function that identifies the caller and checks its scope; checks them once right away."""
    follow = access.follow(peer_identity(context, access))

    def identify() -> Client:
        client = follow()
        client.check(kind)
        return client

    identify()
    return identify


async def _call(access: Access, kind: str, stream: _Stream, _: Any, context: Context) -> None:
    async with refusing(context, _PROTOS):
        identify = _identify(access, context, kind)
        async with aclosing(stream(await request_of(context), identify)) as messages:
            async for message in messages:
                identify()
                await _write(context, message.SerializeToString())


async def _write(context: Context, message: bytes) -> None:
    try:
        await asyncio.wait_for(context.write(message), _UNREAD_SECONDS)
    except asyncio.TimeoutError:
        raise FaultError(
            Reason.CAPACITY_REACHED,
            f"a message was left unread for {_UNREAD_SECONDS:g} s; read faster, or ask for a longer period",
        ) from None


_ADMIN = admin_pb2.DESCRIPTOR.services_by_name["AdminService"].full_name


#: Returns the function that serves the requests of a call.
_Serving = Callable[[Context], Exchange]


async def _unary(front: Front, serving: _Serving, kind: str, _: Any, context: Context) -> bytes:
    try:
        client = front.access.identify(peer_identity(context, front.access))
    except FaultError as fault:
        await abort_unauthenticated(context, fault)
    message = await read_message(context)
    if kind == "make":
        client = replace(client, deadline=answer_deadline(context))
    exchanging = serving(context)(REQUESTS.wrap(kind, message), None, client)
    del message  # gRPC keeps this frame for a while after an aborted call
    reply = await exchanging
    answer, response = RESPONSES.unwrap(reply)
    notices = front.notices.trailing_metadata()
    trailer = ((TRAILER, notices),) if notices else ()
    if answer == "error":
        await abort(context, status_pb2.ErrorStatus.FromString(response), trailer)
    if trailer:
        context.set_trailing_metadata(trailer)
    return response


async def _interact(front: Front, serving: _Serving, _: Any, context: Context) -> None:
    stream = Stream()
    try:
        identify = front.access.follow(peer_identity(context, front.access))
        exchange = serving(context)
        while True:
            message: Any = await context.read()
            if message is grpc.aio.EOF:
                return
            reply = await exchange(message, stream, identify())
            if front.notices.draining:
                reply += front.notices.response_suffix()
            await context.write(reply)
    except FaultError as fault:
        await abort_unauthenticated(context, fault)
    finally:
        stream.end()


class GrpcServer:
    """The gRPC server of a front.

    Args:
        front: Serves the requests.
        config: The server's settings.

    Raises:
        ValueError: The certificates are invalid.
        OSError: The certificates cannot be read.
    """

    def __init__(self, front: Front, config: ServerConfig) -> None:
        self._server = grpc.aio.server(options=options(config))
        self._tracing = tracing(front.exchange, config)
        serving: _Serving = self._tracing.exchange if self._tracing else lambda _: front.exchange
        self._health = Health(front.access)
        unary, interact = partial(_unary, front, serving), partial(_interact, front, serving)
        admin = scoped_methods(front.access, front.admin_service.answers, PROTOS)
        handlers = (
            method_handlers(lambda _, kind: partial(unary, kind), interact),
            grpc.method_handlers_generic_handler(_ADMIN, admin),
            watching_handlers(front.observe_service, front.access),
            self._health.handlers(),
        )
        self._server.add_generic_rpc_handlers(handlers)
        if not config.tokens:  # unauthenticated callers get only health checks
            names = (SERVICE, _ADMIN, OBSERVE_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        self._port = GrpcPort(self._server, config, front.access)

    async def start(self) -> str:
        """Binds and serves; returns the bound HOST:PORT.

        Raises:
            OSError: The address is in use or does not belong to this machine.
        """
        target = await self._port.start()
        await self._health.set(health_pb2.HealthCheckResponse.SERVING)
        return target

    async def say_not_serving(self) -> None:
        """Makes health checks report that the server takes no new sessions."""
        await self._health.set(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def stop(self, grace: float) -> None:
        """Stops serving; open calls have `grace` seconds to end."""
        await self._port.stop(grace)
        if self._tracing is not None:
            await self._tracing.stop()
