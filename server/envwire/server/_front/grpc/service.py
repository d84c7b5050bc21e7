"""Registers the methods of EnvironmentService with gRPC, for a server and for the gateway of a farm."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from envwire.server._front.grpc.edge import Context
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
