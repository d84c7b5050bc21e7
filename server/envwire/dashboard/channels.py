"""Channels to the watched servers, and the services on them. The only module here that knows gRPC."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal

import grpc
import grpc.aio

from envwire.admin.v1 import admin_pb2_grpc
from envwire.client import Credentials, InvalidRequestError
from envwire.client._transports.grpc.grpc_connection import channel_settings
from envwire.farm.v1 import farm_pb2_grpc
from envwire.observe.v1 import observe_pb2_grpc

_SECONDS = 5.0
_STUBS: dict[str, Any] = {
    "admin": admin_pb2_grpc.AdminServiceStub,
    "farm": farm_pb2_grpc.FarmServiceStub,
    "observe": observe_pb2_grpc.ObserveServiceStub,
}
Service = Literal["admin", "farm", "observe"]

#: HTTP's status for gRPC's codes; 502 for the others.
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
    """A server refused a call, or does not answer.

    Attributes:
        status: HTTP's status for it.
    """

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def _call_error(error: grpc.aio.AioRpcError) -> CallError:
    return CallError(error.details() or error.code().name, _HTTP.get(error.code(), 502))


class Channels:
    """One channel for each server.

    Args:
        credentials: Certificates and token for all of them.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._channels: dict[str, grpc.aio.Channel] = {}

    def _method(self, target: str, service: Service, method: str) -> Any:
        channel = self._channels.get(target)
        if channel is None:
            self._check(target)
            channel = self._channels[target] = self._open(target)
        return getattr(_STUBS[service](channel), method)

    def _check(self, target: str) -> None:
        """Refuses a server, which a gateway may have named, that the token would go to where others can read it.

        Raises:
            CallError: It is one.
        """
        try:
            self._credentials.check_target(target)
        except InvalidRequestError as error:
            raise CallError(str(error), _HTTP[grpc.StatusCode.PERMISSION_DENIED]) from None

    def _open(self, target: str) -> grpc.aio.Channel:
        options, certificates = channel_settings(self._credentials)
        if certificates is None:
            return grpc.aio.insecure_channel(target, options)
        return grpc.aio.secure_channel(target, certificates, options)

    async def ask(self, target: str, service: Service, method: str, request: Any) -> Any:
        """Returns the answer to a request.

        Raises:
            CallError: There is none.
        """
        call = self._method(target, service, method)
        try:
            return await call(request, metadata=self._credentials.metadata, timeout=_SECONDS)
        except grpc.aio.AioRpcError as error:
            raise _call_error(error) from None

    async def listen(
        self, target: str, service: Service, method: str, request: Any
    ) -> AsyncGenerator[Any]:
        """Yields what a server tells.

        Raises:
            CallError: It ended, or could not begin.
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
        """Closes the channel to a server that is watched no more."""
        channel = self._channels.pop(target, None)
        if channel is not None:
            await channel.close()

    async def close(self) -> None:
        """Closes all channels."""
        for target in list(self._channels):
            await self.forget(target)
