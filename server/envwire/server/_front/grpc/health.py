"""`grpc.health.v1`: reports the server's health, without authentication."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import grpc
from grpc_health.v1 import _async as aio_health
from grpc_health.v1 import health, health_pb2

from envwire.codec import FaultError
from envwire.server._auth.access import Access
from envwire.server._front.grpc.edge import Context, connection_of, peer_identity
from envwire.server._front.grpc.service import SERVICE, request_of

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
