"""gRPC connections: channels, their options and certificates, and the interpretation of gRPC's errors."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from envwire.client._errors import (
    CLASSES_BY_CODE,
    refused,
    timed_out,
    too_large,
    unavailable,
    unavailable_through,
)
from envwire.client._transports.grpc import forking
from envwire.client._transports.grpc.tls_faults import tls_fault
from envwire.client._transports.resolving import proxy_variable
from envwire.client._transports.targets import ConnectWait
from envwire.client.credentials import Credentials
from envwire.client.errors import RemoteError, ServerUnavailableError
from envwire.v1 import environment_pb2 as pb
from envwire.wire.addresses import NO_PROXY, parse_address

_log = logging.getLogger("envwire.client")

_SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
#: The path of each unary method, by the request's field in InteractRequest.
PATHS = {
    field.name: f"/{_SERVICE.full_name}/{method.name}"
    for field in pb.InteractRequest.DESCRIPTOR.fields
    for method in _SERVICE.methods
    if method.input_type is field.message_type
}
_PROBE_PAUSE = 0.1
#: The path of the stream.
INTERACT = f"/{_SERVICE.full_name}/Interact"
#: How long to wait for an advertised address; the dialled address works too.
_FOLLOW = ConnectWait(1.0, refused=False)
_STATUS_KEY = "grpc-status-details-bin"

_UNAVAILABLE = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN}
)

#: Texts of gRPC's errors for a call that found no connection, or a proxy that found none; nothing else tells.
_NOT_CONNECTED = ("failed to connect", "resolution", "status: 502", "status: 503")

#: Errors of calls that have ended, with their status: of blocking and of asyncio calls.
_WITH_STATUS = (grpc.Call, grpc.aio.AioRpcError)

#: Statuses of a probe that got no answer; a fork cancels one that takes long.
_NOT_THERE = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
    }
)

_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    # A gateway that was away for 12 s was found 3 s after it was back, without this bound.
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # No message is decompressed: a few bytes of a server could fill this process's memory.
    ("grpc.compression_enabled_algorithms_bitset", 1),
    # One connection per environment, so that a large message of one does not delay the steps of another.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)


class GrpcConnection:
    """A channel to a server that has answered at least once.

    Args:
        target: HOST:PORT, or any gRPC name.
        wait: How long to wait for the server.
        credentials: Certificates and token.

    Attributes:
        target: The server.
        credentials: Certificates and token.
        metadata: Metadata for every call.
        info: What the server said of itself; empty if it answered with an error.
        in_use: Held during a call (see `Forkable`).
        rest: Closes what its user keeps open between calls.
        user: The thread that began the last call.
        interrupt: Ends the call that is under way.

    Raises:
        ServerUnavailableError: No server answered in that time.
        TlsError: A server answers, but no secure connection can be made.
        InvalidRequestError: The token would be sent without TLS over a network.
    """

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        credentials.check_target(target)
        self.target = target
        self.credentials = credentials
        self.metadata = credentials.metadata
        self.info = pb.GetServerInfoResponse()
        self._proxy = proxy_variable(target, credentials)
        self.in_use = threading.Lock()
        self.rest: Callable[[], object] = int
        self.user = 0
        self.interrupt: Callable[[], object] = self.renew
        with forking.turn:
            self.channel = open_channel(target, credentials)
            forking.register(self)
        try:
            with self.in_use:
                self._await_ready(wait, credentials)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the channel."""
        with forking.turn:
            self.channel.close()

    def renew(self) -> None:
        """Ends all calls, of which a blocking one has no other end, and opens a channel for the next ones."""
        channel, self.channel = self.channel, open_channel(self.target, self.credentials)
        channel.close()

    def _await_ready(self, wait: ConnectWait, credentials: Credentials) -> None:
        """Sends small requests until the server answers: watching the channel would take a thread that polls."""
        deadline = time.monotonic() + wait.seconds
        refuses = False
        while (missing := self._missing(deadline)) is not None:
            left = deadline - time.monotonic()
            # The last attempt may end before it is refused as well.
            refuses = is_refusal(missing) or (refuses and left <= 0)
            if self._proxy and (left <= 0 or not wait.refused):
                raise unavailable_through(self._proxy, self.target, missing)
            wait.check(self.target, left, refuses)
            # A server may still start; a certificate that is rejected now will be rejected again.
            if fault := tls_fault(self.target, credentials, left):
                raise fault
            time.sleep(min(_PROBE_PAUSE, left))

    def _missing(self, deadline: float) -> str | None:
        """Returns gRPC's error text if the server does not answer; None if it does, even with an error."""
        unary: Any = self.channel.unary_unary
        try:
            left = max(0.0, deadline - time.monotonic())
            answer = unary(PATHS["get_server_info"])(b"", timeout=left, metadata=self.metadata)
        except grpc.RpcError as error:
            if not isinstance(error, _WITH_STATUS):
                return str(error)
            return (error.details() or "") if error.code() in _NOT_THERE else None
        with contextlib.suppress(DecodeError):
            self.info = pb.GetServerInfoResponse.FromString(answer)
        return None

    def answers(self, timeout: float) -> bool:
        """Returns whether the server answers a small request in time, even with an error."""
        return self._missing(time.monotonic() + timeout) is None

    def failure(self, error: grpc.RpcError, timeout: float) -> Exception:
        """Returns the exception for a failed call whose failure the server did not report itself."""
        code = error.code() if isinstance(error, _WITH_STATUS) else grpc.StatusCode.UNKNOWN
        details = (error.details() if isinstance(error, _WITH_STATUS) else "") or str(error)
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return timed_out(self.target, timeout)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return too_large(self.target, details)
        away = any(words in details for words in _NOT_CONNECTED)
        if self._proxy and away:
            return unavailable_through(self._proxy, self.target, details)
        if code is grpc.StatusCode.UNAVAILABLE and is_refusal(details):
            return refused(self.target)
        text = f"the call to {self.target} failed: {code.name}: {details}"
        if code not in _UNAVAILABLE:
            return CLASSES_BY_CODE.get(code.value[0], RemoteError)(text)
        return unavailable(text, connected=code is grpc.StatusCode.UNAVAILABLE and not away)


def is_refusal(details: str) -> bool:
    """Returns whether gRPC's text says that all addresses refused: the status is the same for any lost connection."""
    return "refused" in details and "failed to connect" in details


def followed(connection: GrpcConnection, made: pb.MakeResponse) -> GrpcConnection:
    """Returns a connection to the address that a session's server advertises, if the same server answers there.

    Args:
        connection: The connection that the session was made over; closed if another one replaces it.
        made: The answer to the Make.
    """
    if made.address in {"", connection.target}:
        return connection
    if parse_address(made.address) is None:  # of a socket of this machine, or of another resolver
        _log.info("the advertised address %r is not HOST:PORT", made.address)
        return connection
    try:
        there = GrpcConnection(made.address, _FOLLOW, connection.credentials)
    except RemoteError as error:
        _log.info("the advertised address %s cannot be used: %s", made.address, error)
        return connection
    if not made.incarnation or there.info.incarnation != made.incarnation:
        _log.info("another server answers at the advertised address %s", made.address)
        there.close()
        return connection
    connection.close()
    return there


def probe(target: str, credentials: Credentials, timeout: float) -> bool:
    """Returns whether a server answers within `timeout` seconds, on a separate connection."""
    try:
        GrpcConnection(target, ConnectWait(timeout, refused=True), credentials).close()
    except ServerUnavailableError:
        return False
    return True


def open_channel(target: str, credentials: Credentials) -> grpc.Channel:
    """Opens a channel without waiting for the server.

    Raises:
        TlsError: The certificates cannot be used.
    """
    _keep_grpc_running(os.getpid())
    channel: grpc.Channel = _opened(grpc, target, credentials)
    return channel


def open_loop_channel(target: str, credentials: Credentials) -> grpc.aio.Channel:
    """Opens a channel in the running event loop, as `open_channel` does."""
    channel: grpc.aio.Channel = _opened(grpc.aio, target, credentials)
    return channel


def _opened(library: Any, target: str, credentials: Credentials) -> Any:
    name = credentials.override_authority
    options = _OPTIONS if proxy_variable(target, credentials) else (*_OPTIONS, NO_PROXY)
    if not credentials.secure:
        authority = (("grpc.default_authority", name),) if name else ()
        return library.insecure_channel(target, options + authority)
    credentials.ssl_context()  # reports what is wrong with the files; gRPC does not
    certificates = grpc.ssl_channel_credentials(*map(credentials.pem, ("ca", "key", "cert")))
    authority = (("grpc.ssl_target_name_override", name),) if name else ()
    return library.secure_channel(target, certificates, options + authority)


@cache
def _keep_grpc_running(pid: int) -> grpc.Channel:  # noqa: ARG001 - a forked child needs its own
    """Holds a channel that is never connected and never closed.

    When its last channel is closed, gRPC shuts down in its own threads. A child forked at that moment inherits locked
    locks and hangs in its first channel. Without this, the direct transport would close the last channel.
    """
    return grpc.insecure_channel("localhost")


def status_of(error: grpc.RpcError) -> bytes | None:
    """Returns the server's error, a serialised Status, if the call failed with one."""
    return trailer(error, _STATUS_KEY) if isinstance(error, _WITH_STATUS) else None


def trailer(call: Any, name: str) -> bytes | None:
    """Returns a binary entry of a call's trailing metadata, if there is one."""
    for key, value in call.trailing_metadata() or ():
        if key == name and isinstance(value, bytes):
            return value
    return None
