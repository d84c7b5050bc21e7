"""Unary methods of the other services, each of which needs a scope and is answered at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from envwire.codec import FaultError, Reason
from envwire.server._auth.access import Access
from envwire.server._auth.client import Client
from envwire.server._front.grpc.edge import Context, abort, peer_identity
from envwire.server._ipc.fault_replies import fault_reply

_T = TypeVar("_T")

Answer = Callable[[bytes], Message]
ClientAnswer = Callable[[bytes, Client], Awaitable[Message]]


def scoped(
    access: Access, kind: str, answer: Answer, protos: str
) -> Callable[[Any, Context], Awaitable[bytes]]:
    """Returns the handler of a method. A message is parsed only after its caller is authenticated.

    Args:
        access: Identifies callers.
        kind: The method's name in the table of scopes.
        answer: Returns the answer to a request, or raises a FaultError.
        protos: The proto file that describes the request, for error messages.
    """

    async def at_once(raw: bytes, _: Client) -> Message:
        return answer(raw)

    return scoped_call(access, kind, at_once, protos)


def scoped_call(
    access: Access, kind: str, answer: ClientAnswer, protos: str
) -> Callable[[Any, Context], Awaitable[bytes]]:
    """Returns the handler of a method whose answer is awaited or depends on the client (see `scoped`)."""

    async def answered(context: Context) -> bytes:
        client = access.identify(peer_identity(context))
        client.check(kind)
        return (await answer(await request_of(context), client)).SerializeToString()

    async def call(_: Any, context: Context) -> bytes:
        return await refusing(context, protos, answered(context))

    return call


async def request_of(context: Context) -> bytes:
    """Reads the request of a call."""
    message: Any = await context.read()
    return b"" if message is grpc.aio.EOF else message


async def refusing(context: Context, protos: str, serving: Awaitable[_T]) -> _T:
    """Awaits the serving of a call; ends the call with an error if it raises a fault.

    Args:
        context: The call.
        protos: The proto file that describes its request, for error messages.
        serving: Serves the call.
    """
    try:
        return await serving
    except FaultError as fault:
        await abort(context, fault_reply(fault).error)
    except DecodeError as error:
        text = f"{error}; send what protos/{protos} describes"
        malformed = FaultError(Reason.MALFORMED_REQUEST, text)
        await abort(context, fault_reply(malformed).error)


def scoped_service(
    service: str, access: Access, methods: dict[str, tuple[str, Answer]], protos: str
) -> grpc.GenericRpcHandler:
    """Returns the gRPC handlers of a service.

    Args:
        service: Its full name.
        access: Identifies callers.
        methods: For each method, its name in the table of scopes and the function that serves it.
        protos: The proto file that describes the requests, for error messages.
    """
    handlers: dict[str, Any] = {
        name: grpc.stream_unary_rpc_method_handler(scoped(access, kind, answer, protos))
        for name, (kind, answer) in methods.items()
    }
    return grpc.method_handlers_generic_handler(service, handlers)
