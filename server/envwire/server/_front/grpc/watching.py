"""ObserveService on a gRPC server. A watcher that does not read is dropped, and never delays anyone else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any

import grpc

from envwire.codec import FaultError, Reason
from envwire.observe.v1 import observe_pb2
from envwire.server._auth.access import Access
from envwire.server._auth.client import Client
from envwire.server._front.grpc.edge import Context, peer_identity
from envwire.server._front.grpc.service import refusing, request_of, scoped_methods
from envwire.server._front.observing.service import Identify, ObserveService

SERVICE = observe_pb2.DESCRIPTOR.services_by_name["ObserveService"].full_name
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
    return grpc.method_handlers_generic_handler(SERVICE, handlers)


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
