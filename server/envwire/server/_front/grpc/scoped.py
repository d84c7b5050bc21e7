"""Unary methods of the services besides EnvironmentService, each of which needs a scope."""

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
from envwire.server._front.malformed import malformed
from envwire.server._ipc.fault_replies import fault_reply

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
