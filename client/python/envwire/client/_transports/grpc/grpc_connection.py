"""Connections over gRPC: channels, their options and certificates, and what gRPC's errors mean."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from functools import cache
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from envwire.client._transports.connect_wait import ConnectWait
from envwire.client._transports.grpc.tls_faults import tls_fault
from envwire.client._transports.versions import check_version
from envwire.client.credentials import Credentials
from envwire.client.errors import (
    CLASSES_BY_CODE,
    RemoteError,
    ServerUnavailableError,
    nobody_answers,
    nothing_listens,
    refused,
    timed_out,
    too_large,
)
from envwire.v1 import environment_pb2 as pb

_log = logging.getLogger("envwire.client")

SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
_PROBE = f"/{SERVICE.full_name}/GetServerInfo"
_PROBE_PAUSE = 0.1
#: The path of the stream.
INTERACT = f"/{SERVICE.full_name}/Interact"
#: An advertised address that answers no sooner is not worth it.
_FOLLOW = ConnectWait(1.0, refused=False)
_STATUS_KEY = "grpc-status-details-bin"

_UNAVAILABLE = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN}
)

#: What gRPC says, and nothing else tells it, of a call that found no connection.
_NOT_CONNECTED = ("failed to connect", "resolution")

_NOT_THERE = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED})

_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # One connection for each environment: a large frame of one does not delay the steps of another.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)


class Connection:
    """A channel that is ready.

    Args:
        target: HOST:PORT, or any gRPC name.
        wait: How long a server is waited for there.
        credentials: Certificates and token.

    Attributes:
        target: The server.
        credentials: Certificates and token.
        metadata: What every call has to carry.

    Raises:
        ServerUnavailableError: No server answered in that time.
        TlsError: One answers, and no secure connection to it comes about.
        InvalidRequestError: The token would go where others can read it.
    """

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        credentials.check_target(target)
        self.target = target
        self.credentials = credentials
        self.metadata = credentials.metadata
        self.channel = open_channel(target, credentials)
        try:
            self._await_ready(wait, credentials)
        except BaseException:
            self.channel.close()
            raise

    def _await_ready(self, wait: ConnectWait, credentials: Credentials) -> None:
        """Asks something small until the server answers: watching the channel would take a thread that polls."""
        deadline = time.monotonic() + wait.seconds
        unary: Any = self.channel.unary_unary
        probe = unary(_PROBE)
        while (missing := self._missing(probe, deadline)) is not None:
            left = deadline - time.monotonic()
            if _is_refusal(missing) and (left <= 0 or not wait.refused):
                raise nothing_listens(self.target)
            if left <= 0:
                raise nobody_answers(self.target, wait.seconds)
            # A server may still appear; a certificate that is refused now will be refused again.
            if fault := tls_fault(self.target, credentials, left):
                raise fault
            time.sleep(min(_PROBE_PAUSE, left))

    def _missing(self, probe: Any, deadline: float) -> str | None:
        """Returns what gRPC says of a server that does not answer; None for one that does, whatever it answers."""
        try:
            left = max(0.0, deadline - time.monotonic())
            answer = probe(b"", timeout=left, metadata=self.metadata)
        except grpc.RpcError as error:
            if not isinstance(error, grpc.Call):
                return str(error)
            return (error.details() or "") if error.code() in _NOT_THERE else None
        with contextlib.suppress(DecodeError):
            check_version(self.target, pb.GetServerInfoResponse.FromString(answer).version)
        return None

    def failure(self, error: grpc.RpcError, timeout: float) -> Exception:
        """Returns the exception for a call that failed without an answer of the server's own."""
        code = error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.UNKNOWN
        details = (error.details() if isinstance(error, grpc.Call) else "") or str(error)
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return timed_out(self.target, timeout)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return too_large(self.target, details)
        if code is grpc.StatusCode.UNAVAILABLE and _is_refusal(details):
            return refused(self.target)
        text = f"the call to {self.target} failed: {code.name}: {details}"
        if code not in _UNAVAILABLE:
            return CLASSES_BY_CODE.get(code.value[0], RemoteError)(text)
        unavailable = ServerUnavailableError(text)
        unavailable.connected = code is grpc.StatusCode.UNAVAILABLE and not any(
            words in details for words in _NOT_CONNECTED
        )
        return unavailable

    def incarnation(self) -> str:
        """Returns which run of the server answers here; nothing when none does within a second."""
        unary: Any = self.channel.unary_unary
        try:
            raw = unary(_PROBE)(b"", timeout=_FOLLOW.seconds, metadata=self.metadata)
            return pb.GetServerInfoResponse.FromString(raw).incarnation
        except (grpc.RpcError, DecodeError):
            return ""


def _is_refusal(details: str) -> bool:
    """Tells whether nothing listens at any address, by gRPC's text: its status is the same for any lost connection."""
    return "refused" in details and "failed to connect" in details


def followed(connection: Connection, made: pb.MakeResponse, credentials: Credentials) -> Connection:
    """Returns the connection to where a new session's server is advertised, if the same run of it answers there.

    Args:
        connection: The one that the session was made over; closed when another takes its place.
        made: The answer to the Make.
        credentials: Certificates and token.
    """
    if made.address in {"", connection.target}:
        return connection
    try:
        there = Connection(made.address, _FOLLOW, credentials)
    except RemoteError as error:
        _log.info("%s is advertised and cannot be used: %s", made.address, error)
        return connection
    if not made.incarnation or there.incarnation() != made.incarnation:
        _log.info("%s is advertised, and another server answers there", made.address)
        there.channel.close()
        return connection
    connection.channel.close()
    return there


def probe(target: str, credentials: Credentials, timeout: float) -> bool:
    """Returns whether a server answers within `timeout` seconds, on a separate connection."""
    try:
        Connection(target, ConnectWait(timeout, refused=True), credentials).channel.close()
    except ServerUnavailableError:
        return False
    return True


def open_channel(target: str, credentials: Credentials) -> grpc.Channel:
    """Opens a channel, without waiting for the server.

    Raises:
        TlsError: The certificates cannot be used.
    """
    _stay_up(os.getpid())
    options, certificates = channel_settings(credentials)
    if certificates is None:
        return grpc.insecure_channel(target, options)
    return grpc.secure_channel(target, certificates, options)


def channel_settings(
    credentials: Credentials,
) -> tuple[tuple[tuple[str, Any], ...], grpc.ChannelCredentials | None]:
    """Returns a channel's options, and its certificates where it has any.

    Raises:
        TlsError: The certificates cannot be used.
    """
    name = credentials.override_authority
    if not credentials.secure:
        options = (("grpc.default_authority", name),) if name else ()
        return _OPTIONS + options, None
    credentials.ssl_context()  # says what is wrong with the files; gRPC would not
    certificates = grpc.ssl_channel_credentials(
        *(credentials.pem(part) for part in ("ca", "key", "cert"))
    )
    options = (("grpc.ssl_target_name_override", name),) if name else ()
    return _OPTIONS + options, certificates


@cache
def _stay_up(pid: int) -> grpc.Channel:  # noqa: ARG001 - a forked child needs one of its own
    """Holds a channel that is never connected nor closed.

    With the last of its channels gRPC takes itself down, in threads of its own; a child forked meanwhile inherits locks
    that nobody will ever release, and hangs in its first channel. The direct channel would close that last one.
    """
    return grpc.insecure_channel("localhost")


def status_of(error: grpc.RpcError) -> bytes | None:
    """Returns the server's own account of an error, a Status, when it gave one."""
    return trailer(error, _STATUS_KEY) if isinstance(error, grpc.Call) else None


def trailer(call: grpc.Call, name: str) -> bytes | None:
    """Returns a binary entry of a call's trailing metadata, if it has it."""
    metadata: Any = call.trailing_metadata()
    for key, value in metadata or ():
        if key == name and isinstance(value, bytes):
            return value
    return None
