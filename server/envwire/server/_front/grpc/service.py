"""Registers methods with gRPC, for servers and the gateway of a farm: EnvironmentService, and those with a scope."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from envwire.codec import FaultError
from envwire.server._auth.access import Access
from envwire.server._auth.client import Client
from envwire.server._front.grpc.edge import Context, abort, peer_identity
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
