"""Transports over gRPC: unary calls, and one bidirectional stream. The only module of the client that knows gRPC."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from queue import SimpleQueue
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from envwire.client._drivers.watchdog import Deadline
from envwire.client._transports.tls_faults import tls_fault
from envwire.client.credentials import Credentials
from envwire.client.errors import (
    CLASSES_BY_CODE,
    RemoteError,
    ServerUnavailableError,
    nobody_answers,
    timed_out,
    too_large,
)
from envwire.codec.fastpath.outlining import outlined
from envwire.codec.notices import TRAILER
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.wire.envelope import REQUESTS, RESPONSES, with_header
from envwire.wire.frames import Reply

_log = logging.getLogger("envwire.client")

_SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
_RENEW_SECONDS = 10.0
_PROBE = f"/{_SERVICE.full_name}/GetServerInfo"
_PROBE_PAUSE = 0.1
#: The path of the stream.
INTERACT = f"/{_SERVICE.full_name}/Interact"
#: An advertised address that answers no sooner is not worth it.
_FOLLOW_SECONDS = 1.0
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
        connect_timeout: Seconds to wait for a server there.
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

    def __init__(self, target: str, connect_timeout: float, credentials: Credentials) -> None:
        credentials.check_target(target)
        self.target = target
        self.credentials = credentials
        self.metadata = credentials.metadata
        self.channel = open_channel(target, credentials)
        try:
            self._await_ready(connect_timeout, credentials)
        except BaseException:
            self.channel.close()
            raise

    def _await_ready(self, timeout: float, credentials: Credentials) -> None:
        """Asks something small until the server answers: watching the channel would take a thread that polls."""
        deadline = time.monotonic() + timeout
        unary: Any = self.channel.unary_unary
        probe = unary(_PROBE)
        while not self._is_there(probe, deadline):
            left = deadline - time.monotonic()
            if left <= 0:
                raise nobody_answers(self.target, timeout)
            # A server may still appear; a certificate that is refused now will be refused again.
            if fault := tls_fault(self.target, credentials, left):
                raise fault
            time.sleep(min(_PROBE_PAUSE, left))

    def _is_there(self, probe: Any, deadline: float) -> bool:
        try:
            probe(b"", timeout=max(0.0, deadline - time.monotonic()), metadata=self.metadata)
        except grpc.RpcError as error:  # whatever it answers, it is there
            return isinstance(error, grpc.Call) and error.code() not in _NOT_THERE
        return True

    def failure(self, error: grpc.RpcError, timeout: float) -> Exception:
        """Returns the exception for a call that failed without an answer of the server's own."""
        code = error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.UNKNOWN
        details = (error.details() if isinstance(error, grpc.Call) else "") or str(error)
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return timed_out(self.target, timeout)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return too_large(self.target, details)
        text = f"the call to {self.target} failed: {code.name}: {details}"
        if code not in _UNAVAILABLE:
            return CLASSES_BY_CODE.get(code.value[0], RemoteError)(text)
        unavailable = ServerUnavailableError(text)
        unavailable.refused = "Connection refused" in details
        unavailable.connected = code is grpc.StatusCode.UNAVAILABLE and not any(
            words in details for words in _NOT_CONNECTED
        )
        return unavailable

    def incarnation(self) -> str:
        """Returns which run of the server answers here; nothing when none does within a second."""
        unary: Any = self.channel.unary_unary
        try:
            raw = unary(_PROBE)(b"", timeout=_FOLLOW_SECONDS, metadata=self.metadata)
            return pb.GetServerInfoResponse.FromString(raw).incarnation
        except (grpc.RpcError, DecodeError):
            return ""


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
        there = Connection(made.address, _FOLLOW_SECONDS, credentials)
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
    """Returns whether a server answers anything within so many seconds, on a connection of its own."""
    try:
        Connection(target, timeout, credentials).channel.close()
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


def _methods() -> Iterator[tuple[str, str]]:
    """Yields the kind of request and response, and the path, of each unary method."""
    for field in pb.InteractRequest.DESCRIPTOR.fields:
        for method in _SERVICE.methods:
            if method.input_type is field.message_type:
                yield field.name, f"/{_SERVICE.full_name}/{method.name}"


class UnaryTransport:
    """One unary call for each request.

    Args:
        target: HOST:PORT, or any gRPC name.
        connect_timeout: Seconds to wait for a server there.
        credentials: Certificates and token.

    Raises:
        RemoteError: No connection came about (see `Connection`).
    """

    def __init__(self, target: str, connect_timeout: float, credentials: Credentials) -> None:
        self._credentials = credentials
        self._use(Connection(target, connect_timeout, credentials))
        self._sent: Any = None
        self._expected = "", 0.0

    def _use(self, connection: Connection) -> None:
        self._connection = connection
        self._metadata = connection.metadata
        unary = connection.channel.unary_unary
        self._methods: dict[str, Any] = {kind: unary(path) for kind, path in _methods()}

    def follow(self, made: pb.MakeResponse) -> None:
        """Goes on where a new session's server is advertised (see `followed`)."""
        self._use(followed(self._connection, made, self._credentials))

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        kind, message = REQUESTS.unwrap(with_header(request, header))
        method = self._methods[kind]
        # A blocking call costs fewer turns of threads than sending and receiving apart.
        call = partial(method.with_call, message, timeout=timeout, metadata=self._metadata)
        return self._reply(call, kind, timeout)

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Begins a call (see `Transport.send`)."""
        kind, message = REQUESTS.unwrap(with_header(request, header))
        method = self._methods[kind]
        self._sent = method.future(message, timeout=timeout, metadata=self._metadata)
        self._expected = kind, timeout

    def receive(self) -> Reply:
        """Waits for the call (see `Transport.receive`)."""
        kind, timeout = self._expected
        return self._reply(lambda: (self._sent.result(), self._sent), kind, timeout)

    def _reply(self, call: Callable[[], tuple[bytes, Any]], kind: str, timeout: float) -> Reply:
        """Returns what a call returns, or the server's own account of what went wrong."""
        try:
            response, ended = call()
            reply = outlined(response, kind)
            notices = _trailer(ended, TRAILER)
            if kind == "make":
                self.follow(pb.MakeResponse.FromString(response))
            return Reply(reply.message + _beside(notices), reply.area) if notices else reply
        except grpc.RpcError as error:
            if status := status_of(error):
                return Reply(RESPONSES.wrap("error", status))
            raise self._connection.failure(error, timeout) from error

    def fileno(self) -> int:
        """Returns -1: gRPC waits in threads of its own."""
        return -1

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease in the background (see `Transport.keep_alive`)."""
        kind, message = REQUESTS.unwrap(with_header(request, header))
        # The call is kept: gRPC cancels one that nobody holds.
        method = self._methods[kind]
        self._renewal = method.future(message, timeout=_RENEW_SECONDS, metadata=self._metadata)

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers anything (see `Probeable.probe`)."""
        return probe(self._connection.target, self._connection.credentials, timeout)

    def interrupt(self) -> None:
        """Ends a call that waits (see `Probeable.interrupt`); a blocking one ends with its channel only."""
        self._connection.channel.close()

    def close(self) -> None:
        """Closes the channel."""
        self._connection.channel.close()


def status_of(error: grpc.RpcError) -> bytes | None:
    """Returns the server's own account of an error, a Status, when it gave one."""
    return _trailer(error, _STATUS_KEY) if isinstance(error, grpc.Call) else None


def _trailer(call: grpc.Call, name: str) -> bytes | None:
    metadata: Any = call.trailing_metadata()
    for key, value in metadata or ():
        if key == name and isinstance(value, bytes):
            return value
    return None


def _beside(notices: bytes) -> bytes:
    """Returns the notices of a unary call as they stand in an InteractResponse."""
    told = status_pb2.NoticeList.FromString(notices).notices
    return pb.InteractResponse(notices=told).SerializeToString()


class StreamTransport:
    """One bidirectional stream for all requests.

    Args:
        target: HOST:PORT, or any gRPC name.
        connect_timeout: Seconds to wait for a server there.
        credentials: Certificates and token.

    Raises:
        RemoteError: No connection came about (see `Connection`).
    """

    def __init__(self, target: str, connect_timeout: float, credentials: Credentials) -> None:
        self._credentials = credentials
        self._use(Connection(target, connect_timeout, credentials))
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._replies: Any = None
        self._deadline = Deadline()
        self._timeout = 0.0

    def _use(self, connection: Connection) -> None:
        self._connection = connection
        self._open: Callable[..., Any] = connection.channel.stream_stream(INTERACT)

    def follow(self, made: pb.MakeResponse) -> None:
        """Goes on where a new session's server is advertised (see `followed`)."""
        there = followed(self._connection, made, self._credentials)
        if there is not self._connection:
            self._end()
            self._use(there)

    @property
    def connection(self) -> Connection:
        """The connection, for streams that an event loop opens."""
        return self._connection

    def _start(self) -> None:
        self._requests = SimpleQueue()
        self._replies = self._open(
            iter(self._requests.get, None), metadata=self._connection.metadata
        )
        self._deadline = Deadline(self._replies.cancel)

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        self.send(request, timeout, header)
        return self.receive()

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Writes to the stream (see `Transport.send`)."""
        if self._replies is None:
            self._start()
        self._timeout = timeout
        self._deadline.start(timeout)
        self._requests.put(with_header(request, header))

    def receive(self) -> Reply:
        """Reads from the stream (see `Transport.receive`)."""
        try:
            reply = outlined(next(self._replies))
            if RESPONSES.kind(reply.message) == "make":
                self._deadline.stop()
                self.follow(pb.InteractResponse.FromString(reply.message).make)
            return reply
        except BaseException as error:
            # Whatever it was, a reply that is still to come belongs to nobody: the next call goes on a new stream.
            self._end()
            if isinstance(error, grpc.RpcError) and (status := status_of(error)):
                return Reply(RESPONSES.wrap("error", status))
            raise self._failure(error, self._timeout) from error
        finally:
            self._deadline.stop()

    def fileno(self) -> int:
        """Returns -1: gRPC waits in threads of its own."""
        return -1

    def _failure(self, error: BaseException, timeout: float) -> BaseException:
        if self._deadline.missed:
            return timed_out(self._connection.target, timeout)
        if isinstance(error, grpc.RpcError):
            return self._connection.failure(error, timeout)
        if isinstance(error, StopIteration):
            ended = ServerUnavailableError(f"{self._connection.target} ended the stream")
            ended.connected = True
            return ended
        return error

    def _end(self) -> None:
        # A stream that is neither drained nor cancelled can hang the interpreter when it exits.
        if self._replies is not None:
            self._requests.put(None)
            self._replies.cancel()
            self._replies = None

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Does nothing: the open stream keeps its sessions."""

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers anything (see `Probeable.probe`)."""
        return probe(self._connection.target, self._connection.credentials, timeout)

    def interrupt(self) -> None:
        """Ends the stream, if one waits for it (see `Probeable.interrupt`)."""
        if (replies := self._replies) is not None:
            replies.cancel()

    def close(self) -> None:
        """Ends the stream and closes the channel."""
        self._end()
        self._connection.channel.close()
