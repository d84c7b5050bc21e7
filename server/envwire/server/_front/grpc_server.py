"""gRPC: the service's methods over the front, health and reflection. Only this module and `health` know gRPC."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NoReturn
from urllib.parse import unquote

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection

from envwire.codec import FaultError
from envwire.codec.notices import TRAILER
from envwire.server._auth.access import PeerIdentity
from envwire.server._auth.tls import Certificates, ServerTls, server_tls
from envwire.server._front.front import Front
from envwire.server._front.health import Health
from envwire.server._front.stream import Stream
from envwire.server._ipc.fault_replies import fault_reply
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.wire.envelope import REQUESTS, RESPONSES

_log = logging.getLogger("envwire.server")

SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"].full_name
_STATUS_KEY = "grpc-status-details-bin"
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

#: Time between pings to a silent client, and to wait for its answer: a dead one is noticed after their sum.
_KEEPALIVE_MS, _KEEPALIVE_TIMEOUT_MS = 20_000, 10_000

_Context = grpc.aio.ServicerContext[bytes, bytes]
_UnaryBehaviour = Callable[[Any, _Context], Awaitable[bytes]]


def _options(config: ServerConfig) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", config.max_message_bytes),
        ("grpc.max_send_message_length", config.max_message_bytes),
        # Else gRPC takes in more of each message while nobody reads it, the faster a connection is: 200 calls of a
        # stranger on one connection cost 154 MiB, and 2 MiB so. For that 1 MB to the server takes 6 ms instead of 3.
        ("grpc.http2.bdp_probe", int(not config.tokens)),
        ("grpc.so_reuseport", 0),  # two servers on one port would share it without a word
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        # It, and not the timeout above, decides for pings on a busy connection.
        ("grpc.http2.ping_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        (
            "grpc.http2.max_ping_strikes",
            0,
        ),  # a client may keep an idle connection alive as it likes
    ]


def _unary(front: Front, kind: str) -> _UnaryBehaviour:
    async def call(_: Any, context: _Context) -> bytes:
        try:
            client = front.access.identify(_peer_identity(context))
        except FaultError as fault:
            await _turn_away(context, fault)
        # Nothing here holds the request: gRPC keeps this frame for a while when the call is aborted.
        reply = await front.exchange(
            REQUESTS.wrap(kind, await _read_message(context)), client=client
        )
        answer, response = RESPONSES.unwrap(reply)
        if notices := front.notices.trailing():
            context.set_trailing_metadata(((TRAILER, notices),))
        if answer == "error":
            await _abort(context, status_pb2.ErrorStatus.FromString(response))
        return response

    return call


async def _read_message(context: _Context) -> bytes:
    message: Any = await context.read()
    if message is grpc.aio.EOF:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "a call without a message")
    return bytes(message)


def _peer_identity(context: _Context) -> PeerIdentity:
    """Returns what a caller shows of itself: its address, its certificate, its authorization."""
    authorization = ""
    for key, value in context.invocation_metadata() or ():
        if key == "authorization":
            authorization = str(value)
    certificate = b"".join(context.auth_context().get("x509_subject", ()))
    peer = unquote(context.peer())
    address = "" if peer.startswith("unix") else peer.partition(":")[2].rpartition(":")[0]
    return PeerIdentity(address.strip("[]"), certificate.decode(errors="replace"), authorization)


def _is_admitted(front: Front, context: _Context) -> bool:
    try:
        front.access.identify(_peer_identity(context))
    except FaultError:
        return False
    return True


async def _turn_away(context: _Context, fault: FaultError) -> NoReturn:
    _log.info("turned away %s: %s", context.peer(), fault.reason.value)
    await _abort(context, fault_reply(fault).error)


async def _abort(context: _Context, status: status_pb2.ErrorStatus) -> NoReturn:
    details = ((_STATUS_KEY, status.SerializeToString()),)
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    await context.abort(code, status.message[:1000], details)


def _interact(front: Front) -> Callable[[Any, _Context], Awaitable[None]]:
    async def interact(_: Any, context: _Context) -> None:
        stream = Stream()
        try:
            identify = front.access.follow(_peer_identity(context))
            while True:
                message: Any = await context.read()
                if message is grpc.aio.EOF:
                    return
                reply = await front.exchange(message, stream, identify())
                await context.write(reply + front.notices.beside())
        except FaultError as fault:
            await _turn_away(context, fault)
        finally:
            stream.end()

    return interact


def _field_of(method: str) -> str:
    """Returns the field of InteractRequest that carries a method's request: GetServerInfo -> get_server_info."""
    request = (
        pb.DESCRIPTOR.services_by_name["EnvironmentService"].methods_by_name[method].input_type
    )
    fields = pb.InteractRequest.DESCRIPTOR.fields
    return next(field.name for field in fields if field.message_type is request)


def _handlers(front: Front) -> grpc.GenericRpcHandler:
    methods = pb.DESCRIPTOR.services_by_name["EnvironmentService"].methods
    # To gRPC they take streams of requests: the message of a unary call it reads, and decompresses, before it calls us
    # and anybody has asked for a token. On the wire there is no difference.
    handlers: dict[str, Any] = {
        method.name: grpc.stream_unary_rpc_method_handler(_unary(front, _field_of(method.name)))
        for method in methods
        if not method.client_streaming
    }
    handlers["Interact"] = grpc.stream_stream_rpc_method_handler(_interact(front))
    return grpc.method_handlers_generic_handler(SERVICE, handlers)


class Configurations:
    """The certificates for gRPC, which asks at each handshake, from threads of its own, one at a time.

    What is new replaces what other handshakes may just be using, and gRPC does not guard that: where every connection
    brings a new one, a crowd of them crashes the server. So it is told only what has changed.
    """

    def __init__(self, tls: ServerTls) -> None:
        self._tls = tls
        self._taken = tls.certificates()

    def first(self) -> grpc.ServerCertificateConfiguration:
        """Returns what to begin with."""
        return _configuration(self._taken)

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Returns what to take from now on; None when it is the same."""
        now = self._tls.certificates()
        if now is self._taken:
            return None
        self._taken = now
        return _configuration(now)


def _configuration(certificates: Certificates) -> grpc.ServerCertificateConfiguration:
    pair = certificates.key, certificates.cert
    return grpc.ssl_server_certificate_configuration([pair], certificates.client_ca)


def _credentials(tls: ServerTls) -> grpc.ServerCredentials:
    """Returns credentials that take the certificates anew when they have changed."""
    ours = Configurations(tls)
    changed: Any = ours.changed  # the type stubs know of no None
    return grpc.dynamic_ssl_server_credentials(ours.first(), changed, tls.asks_clients)


class GrpcServer:
    """The gRPC server of a front.

    Args:
        front: Serves the requests.
        config: The server's settings.

    Raises:
        ValueError: The certificates cannot be used.
        OSError: They cannot be read.
    """

    def __init__(self, front: Front, config: ServerConfig) -> None:
        self._tls = server_tls(config)
        self._server = grpc.aio.server(options=_options(config))
        self._server.add_generic_rpc_handlers((_handlers(front),))
        self._health = Health(partial(_is_admitted, front))
        self._server.add_generic_rpc_handlers((self._health.handlers(),))
        if not config.tokens:  # strangers are told that the server is there and how it is, no more
            names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        self._config = config

    async def start(self) -> str:
        """Binds and serves; returns the bound HOST:PORT.

        Raises:
            OSError: The address is taken or not this machine's.
        """
        host = f"[{self._config.host}]" if ":" in self._config.host else self._config.host
        address = f"{host}:{self._config.port}"
        try:
            if self._tls is None:
                port = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, _credentials(self._tls))
        except RuntimeError as error:
            raise OSError(f"cannot bind {host}:{self._config.port}: {error}") from error
        await self._server.start()
        await self._health.set(health_pb2.HealthCheckResponse.SERVING)
        return f"{host}:{port}"

    async def say_not_serving(self) -> None:
        """Tells health checks that the server takes no new sessions."""
        await self._health.set(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def stop(self, grace: float) -> None:
        """Stops serving; calls that are open have `grace` seconds to end."""
        await self._server.stop(grace)
