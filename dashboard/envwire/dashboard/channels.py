"""Channels to the watched servers and the services on them. Only this module of the dashboard uses gRPC."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal

import grpc
import grpc.aio

from envwire.admin.v1 import admin_pb2_grpc
from envwire.client import Credentials, RemoteError
from envwire.client._transports.grpc.grpc_connection import open_loop_channel
from envwire.farm.v1 import farm_pb2_grpc
from envwire.observe.v1 import observe_pb2_grpc

_SECONDS = 5.0
#: Longest wait for the calls on a channel that is closed: a little longer than a call may take.
_CLOSE_SECONDS = 6.0
_STUBS: dict[str, Any] = {
    "admin": admin_pb2_grpc.AdminServiceStub,
    "farm": farm_pb2_grpc.FarmServiceStub,
    "observe": observe_pb2_grpc.ObserveServiceStub,
}
Service = Literal["admin", "farm", "observe"]

#: HTTP status for each gRPC code; 502 for all others.
_HTTP = {
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.UNAUTHENTICATED: 403,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 409,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 503,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


class CallError(Exception):
    """A server refused a call or does not answer.

    Attributes:
        status: The HTTP status to report it with.
    """

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def _call_error(error: grpc.aio.AioRpcError) -> CallError:
    return CallError(error.details() or error.code().name, _HTTP.get(error.code(), 502))


class Channels:
    """One gRPC channel per server, opened on first use.

    Args:
        credentials: Certificates and token for all servers.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._channels: dict[str, grpc.aio.Channel] = {}

    def _method(self, target: str, service: Service, method: str) -> Any:
        """Returns a method of a service on a server.

        Raises:
            CallError: The certificates cannot be used, or the token could be read on its way to the server, which may
                have been named by a gateway.
        """
        channel = self._channels.get(target)
        if channel is None:
            try:
                self._credentials.check_target(target)
                channel = open_loop_channel(target, self._credentials)
            except RemoteError as error:
                raise CallError(str(error), _HTTP[grpc.StatusCode.PERMISSION_DENIED]) from None
            self._channels[target] = channel
        return getattr(_STUBS[service](channel), method)

    async def ask(self, target: str, service: Service, method: str, request: Any) -> Any:
        """Returns a server's answer to a request.

        Raises:
            CallError: The server refused the call or did not answer.
        """
        call = self._method(target, service, method)
        try:
            return await call(request, metadata=self._credentials.metadata, timeout=_SECONDS)
        except grpc.aio.AioRpcError as error:
            raise _call_error(error) from None

    async def listen(
        self, target: str, service: Service, method: str, request: Any
    ) -> AsyncGenerator[Any]:
        """Yields the messages of a server's stream.

        Raises:
            CallError: The stream broke or could not be opened.
        """
        call = self._method(target, service, method)(request, metadata=self._credentials.metadata)
        try:
            async for message in call:
                yield message
        except grpc.aio.AioRpcError as error:
            raise _call_error(error) from None
        finally:
            call.cancel()

    async def forget(self, target: str) -> None:
        """Closes the channel to a server that is no longer watched."""
        channel = self._channels.pop(target, None)
        if channel is not None:
            await channel.close(_CLOSE_SECONDS)

    async def close(self) -> None:
        """Closes all channels."""
        for target in list(self._channels):
            await self.forget(target)
