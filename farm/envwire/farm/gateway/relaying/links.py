"""Connections to servers, over which raw messages are relayed. When a server is dead, all waiting calls fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2

from envwire.codec import FaultError, Reason
from envwire.codec.errors.statuses import TRAILER, reason_of
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.registry.states import Member
from envwire.server._front.grpc.edge import STATUS_KEY
from envwire.server._settings.listening import host_of
from envwire.v1 import environment_pb2, status_pb2
from envwire.wire.addresses import NO_PROXY

T = TypeVar("T")
Metadata = tuple[tuple[str, str | bytes], ...]

_SERVICE = environment_pb2.DESCRIPTOR.services_by_name["EnvironmentService"].full_name
_HEALTH = "/grpc.health.v1.Health/Check"
#: Keys of a server's trailing metadata that are forwarded to the client.
_TRAILERS = frozenset({TRAILER, STATUS_KEY})
#: A Make may take as long as its environment needs, but only while its server answers health checks in between: seconds
#: between two checks, seconds for each, and how many in a row fail before the Make goes to another server.
_CHECK_PAUSE, _CHECK_SECONDS, _CHECKS = 0.2, 1.0, 2
#: Metadata that only servers get whose address is known to be their own.
SECRET = frozenset({"authorization"})


class ServerGoneError(Exception):
    """A server did not answer: it cannot be reached, or the connection broke."""


class RefusedError(Exception):
    """A server answered with an error.

    Args:
        status: Its ErrorStatus; None for an error of gRPC itself.
        error: The error of the gRPC call, if there was one.

    Attributes:
        status: Its ErrorStatus; None for an error of gRPC itself.
        reason: Its reason; None without an ErrorStatus.
        code: The gRPC status code.
        trailers: Trailing metadata of the call.
    """

    def __init__(
        self, status: status_pb2.ErrorStatus | None, error: grpc.aio.AioRpcError | None = None
    ) -> None:
        super().__init__(status.message if status else error.details() if error else "")
        self.status = status
        self.reason: Reason | None = reason_of(status) if status else None
        self.code = error.code() if error else grpc.StatusCode.UNKNOWN
        self.trailers = _forwarded(error.trailing_metadata() if error else ())


class Answer(NamedTuple):
    """A server's answer to a unary call: the message, and the trailing metadata."""

    message: bytes
    trailers: tuple[tuple[str, bytes], ...]


class Link:
    """The connection to one server, shared by all relayed requests.

    Args:
        member: The server.
        config: The gateway's settings.

    Attributes:
        address: HOST:PORT of the server.
        target: The gRPC target to dial.
        proven: Whether the server gets tokens of clients.
    """

    def __init__(self, member: Member, config: GatewayConfig) -> None:
        self.address, self.target, self.proven = member.address, member.target, member.proven
        options: tuple[tuple[str, Any], ...] = (
            NO_PROXY,
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", config.max_message_bytes),
            ("grpc.max_send_message_length", config.max_message_bytes),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
        )
        if member.hello.tunnelled:  # its certificate is for the address, wherever the tunnel ends
            name = host_of(self.address)
            options += (("grpc.ssl_target_name_override", name),)
        self._channel: Any = (
            grpc.aio.secure_channel(
                self.target,
                grpc.ssl_channel_credentials(Path(config.server_ca).read_bytes()),
                options,
            )
            if config.server_ca
            else grpc.aio.insecure_channel(self.target, options)
        )
        self._methods: dict[str, Any] = {}
        self._calls: set[Any] = set()
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._check: asyncio.Task[bool] | None = None

    async def call(self, method: str, message: bytes, metadata: Metadata, timeout: float) -> Answer:
        """Makes a unary call.

        Raises:
            RefusedError: The server answered with an error.
            ServerGoneError: It did not answer.
            FaultError: UNAUTHENTICATED: it asks for the token that it is not shown.
        """
        begin = self._methods.get(method)
        if begin is None:
            begin = self._methods[method] = self._channel.unary_unary(f"/{_SERVICE}/{method}")
        call = begin(message, metadata=self._shown(metadata), timeout=timeout)
        self._calls.add(call)
        try:  # no task and wait around it: those took 40 us of 110
            response = await call
        except grpc.aio.AioRpcError as error:
            raise self._failure(error) from None
        except asyncio.CancelledError:
            if self._gone.done():
                raise ServerGoneError(f"{self.address} is dead") from None
            raise
        finally:
            self._calls.discard(call)
        return Answer(response, _forwarded(await call.trailing_metadata()))

    def open_stream(self, metadata: Metadata) -> Any:
        """Opens an Interact stream."""
        begin: Any = self._channel.stream_stream(f"/{_SERVICE}/Interact")
        return begin(metadata=self._shown(metadata))

    async def unless_gone(self, answer: Awaitable[T], cancel: Callable[[], Any]) -> T:
        """Waits for an answer until the server is declared dead.

        Args:
            answer: The answer to wait for.
            cancel: Cancels its call.

        Raises:
            RefusedError: The server answered with an error.
            ServerGoneError: It did not answer.
            FaultError: UNAUTHENTICATED: it asks for the token that it is not shown.
        """
        waiting = asyncio.ensure_future(answer)
        either: set[asyncio.Future[Any]] = {waiting, self._gone}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            cancel()
            waiting.cancel()
            raise
        if not waiting.done():
            cancel()
            waiting.cancel()
            raise ServerGoneError(f"{self.address} is dead")
        try:
            return waiting.result()
        except grpc.aio.AioRpcError as error:
            raise self._failure(error) from None
        except asyncio.CancelledError:  # the channel was closed during the call
            raise ServerGoneError(f"{self.address} is dead") from None
        except asyncio.InvalidStateError:  # written to after its end, which nobody waited for
            raise ServerGoneError(f"the stream to {self.address} has ended") from None

    async def while_answering(self, answer: Awaitable[T]) -> T:
        """Waits for the answer to a Make while the server answers health checks.

        Without them, a server that accepts connections and says nothing costs a Make the 20 s of gRPC's handshake.

        Raises:
            ServerGoneError: The server does not answer.
        """
        making, missed = asyncio.ensure_future(answer), 0
        try:
            while not (await asyncio.wait({making}, timeout=_CHECK_PAUSE))[0]:
                check = self._begun_check()
                either: set[asyncio.Future[Any]] = {making, check, self._gone}
                ended, _ = await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if self._gone.done():  # which cancelled the check
                    raise ServerGoneError(f"{self.address} is dead")
                missed = missed + 1 if ended == {check} and not check.result() else 0
                if missed == _CHECKS:
                    raise ServerGoneError(f"{self.address} accepts connections and does not answer")
            return await making
        finally:
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)

    def _begun_check(self) -> asyncio.Task[bool]:
        """Returns a health check that is in progress, shared by all Makes."""
        if self._check is None or self._check.done():
            self._check = asyncio.ensure_future(self.answers(_CHECK_SECONDS))
        return self._check

    def _shown(self, metadata: Metadata) -> Metadata:
        if self.proven:
            return metadata
        return tuple(entry for entry in metadata if entry[0] not in SECRET)

    def _failure(self, error: grpc.aio.AioRpcError) -> Exception:
        failure = _translated(error, self.address)
        refused = isinstance(failure, RefusedError) and failure.reason is Reason.UNAUTHENTICATED
        if self.proven or not refused:
            return failure
        return FaultError(
            Reason.UNAUTHENTICATED,
            f"the server at {self.address} asks for a token, and this gateway passes tokens on only to servers whose "
            "certificates it verifies (--server-ca), or that joined with a token for their address (`envwire token "
            "--scope join --address`). Use a client that makes with tickets and reaches the server, or ask the "
            "operator",
        )

    async def answers(self, timeout: float) -> bool:
        """Returns whether the server answers a health check, since even a stopped process accepts connections."""
        unary = self._channel.unary_unary
        check = unary(_HEALTH, request_serializer=health_pb2.HealthCheckRequest.SerializeToString)
        try:
            await check(health_pb2.HealthCheckRequest(), timeout=timeout)
        except grpc.aio.AioRpcError as error:
            return error.code() not in _NOTHING_CAME
        return True

    async def close(self) -> None:
        """Ends all calls and the connection."""
        if not self._gone.done():
            self._gone.set_result(None)
        for call in tuple(self._calls):
            call.cancel()
        if self._check is not None:
            self._check.cancel()
        await self._channel.close()


_NOTHING_CAME = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})


def _translated(error: grpc.aio.AioRpcError, address: str) -> RefusedError | ServerGoneError:
    packed = dict(_forwarded(error.trailing_metadata())).get(STATUS_KEY)
    if packed is not None:
        return RefusedError(status_pb2.ErrorStatus.FromString(packed), error)
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return ServerGoneError(f"{address} does not answer: {error.details()}")
    return RefusedError(None, error)


def _forwarded(trailers: Any) -> tuple[tuple[str, bytes], ...]:
    return tuple((key, value) for key, value in trailers or () if key in _TRAILERS)
