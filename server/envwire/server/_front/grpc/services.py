"""The gRPC services that servers and the gateway of a farm have in common: registering methods of each, and health."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message
from grpc_health.v1 import _async as aio_health
from grpc_health.v1 import health, health_pb2

from envwire.codec import FaultError
from envwire.server._auth.access import Access
from envwire.server._auth.client import Client
from envwire.server._front.grpc.edge import Context, abort, connection_of, peer_identity
from envwire.server._ipc.refusals import fault_reply, malformed
from envwire.v1 import environment_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
SERVICE = _SERVICE.full_name

#: Handlers of a call. They read its messages from the context; the first argument is an unread stream of them.
Unary = Callable[[Any, Context], Awaitable[bytes]]
Interact = Callable[[Any, Context], Awaitable[None]]

#: Fields of InteractRequest by the requests' types: GetServerInfoRequest -> get_server_info.
_FIELDS = {
    field.message_type.name: field.name
    for field in pb.InteractRequest.DESCRIPTOR.fields
    if field.message_type is not None
}


def method_handlers(
    unary: Callable[[str, str], Unary], interact: Interact
) -> grpc.GenericRpcHandler:
    """Returns the gRPC handlers of the service; they take and return bytes.

    Args:
        unary: Returns the handler of a method, given its name and its request's field in InteractRequest.
        interact: Serves Interact.
    """
    # Unary methods are registered as streams of requests, which look the same on the wire. For a unary handler gRPC
    # would read and decompress the message before its caller can be refused, and never end a call without a message.
    handlers: dict[str, Any] = {
        method.name: grpc.stream_unary_rpc_method_handler(
            unary(method.name, _FIELDS[method.input_type.name])
        )
        for method in _SERVICE.methods
        if not method.client_streaming
    }
    handlers["Interact"] = grpc.stream_stream_rpc_method_handler(interact)
    return grpc.method_handlers_generic_handler(SERVICE, handlers)


async def read_message(context: Context) -> bytes:
    """Returns the message of a unary call; ends a call without a message."""
    message: Any = await context.read()
    if message is grpc.aio.EOF:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a call without a message")
    return bytes(message)


#: Serves a request of a client; raises a FaultError to refuse it.
Answer = Callable[[bytes, Client], Awaitable[Message]]


def scoped_methods(access: Access, answers: Mapping[str, Answer], protos: str) -> dict[str, Any]:
    """Returns the handlers of unary methods by name. A message is parsed only after its caller is authenticated.

    Args:
        access: Identifies callers.
        answers: The function of each method, by its name in the table of scopes: list_sessions for ListSessions.
        protos: The folder of the proto file that describes the requests, for error messages.
    """
    handlers: dict[str, Any] = {
        kind.title().replace("_", ""): grpc.stream_unary_rpc_method_handler(
            partial(_call, access, kind, answer, protos)
        )
        for kind, answer in answers.items()
    }
    return handlers


async def _call(
    access: Access, kind: str, answer: Answer, protos: str, _: Any, context: Context
) -> bytes:
    async with refusing(context, protos):
        client = access.identify(peer_identity(context, access))
        client.check(kind)
        return (await answer(await request_of(context), client)).SerializeToString()


async def request_of(context: Context) -> bytes:
    """Reads the request of a call."""
    message: Any = await context.read()
    return b"" if message is grpc.aio.EOF else message


@asynccontextmanager
async def refusing(context: Context, protos: str) -> AsyncGenerator[None]:
    """Ends a call with an error if its serving, inside the `async with` block, raises a fault.

    Args:
        context: The call.
        protos: The folder of the proto file that describes its request, for error messages.
    """
    try:
        yield
    except FaultError as fault:
        await abort(context, fault_reply(fault).error)
    except DecodeError as error:
        await abort(context, fault_reply(malformed(str(error), protos)).error)


#: Most simultaneous watches by unauthenticated callers, over all connections.
MAX_WATCHING = 256


class Health:
    """Health of one server.

    A request names a service and may be as large as any message. It is read only for authenticated callers; others get
    the health of the whole server.

    Args:
        access: Identifies callers.
        serves: Whether the service itself can be used: a gateway without a server is well, and makes nothing.
    """

    def __init__(self, access: Access, serves: Callable[[], bool] = lambda: True) -> None:
        self._access = access
        self._serves = serves
        self._status: int = health_pb2.HealthCheckResponse.SERVING
        self._told: int | None = None
        self._servicer: Any = aio_health.HealthServicer()
        self._watching = 0

    def handlers(self) -> grpc.GenericRpcHandler:
        """Returns the gRPC handlers."""
        packed: Any = health_pb2.HealthCheckResponse.SerializeToString
        handlers: dict[str, Any] = {
            "Check": grpc.stream_unary_rpc_method_handler(self._check, None, packed),
            "Watch": grpc.stream_stream_rpc_method_handler(self._watch, None, packed),
        }
        return grpc.method_handlers_generic_handler(health.SERVICE_NAME, handlers)

    async def set(self, status: int) -> None:
        """Sets the server's health."""
        self._status = status
        await self._servicer.set("", status)
        await self.refresh()

    async def refresh(self) -> None:
        """Tells watches whether the service can be used now."""
        status = self._status if self._serves() else health_pb2.HealthCheckResponse.NOT_SERVING
        if status != self._told:
            self._told = status
            await self._servicer.set(SERVICE, status)

    async def _check(self, _: Any, context: Context) -> health_pb2.HealthCheckResponse:
        connection = connection_of(context)

        def count(_: object) -> None:  # so that the peer gets back what it sent
            self._access.on_answered(connection)

        cast("Any", context).add_done_callback(count)
        await self.refresh()
        answer: health_pb2.HealthCheckResponse
        answer = await self._servicer.Check(await self._request(context), context)
        return answer

    async def _watch(self, _: Any, context: Context) -> None:
        if self._watching >= MAX_WATCHING and not self._is_authenticated(context):
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many watch already")
        self._watching += 1
        try:
            await self._servicer.Watch(await self._request(context), context)
        finally:
            self._watching -= 1

    async def _request(self, context: Context) -> health_pb2.HealthCheckRequest:
        if not self._is_authenticated(context):
            return health_pb2.HealthCheckRequest()
        return health_pb2.HealthCheckRequest.FromString(await request_of(context))

    def _is_authenticated(self, context: Context) -> bool:
        try:
            self._access.identify(peer_identity(context, self._access))
        except FaultError:
            return False
        return True
