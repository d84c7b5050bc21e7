"""Transports over gRPC: unary calls, and one bidirectional stream."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import grpc

from envwire.client._drivers.watchdog import Deadline
from envwire.client._errors.connections import broken, timed_out
from envwire.client._transports.connect_wait import ConnectWait
from envwire.client._transports.grpc.gateway import make_with_ticket
from envwire.client._transports.grpc.grpc_connection import (
    INTERACT,
    PATHS,
    Connection,
    followed,
    probe,
    status_of,
    trailer,
)
from envwire.client.credentials import Credentials
from envwire.codec.fastpath.attached_arrays import extract_arrays
from envwire.codec.notices import TRAILER
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.wire.envelope import REQUESTS, RESPONSES, STEP_REQUEST, with_header
from envwire.wire.frames import Reply

_RENEW_SECONDS = 10.0
#: Seconds between two blocking calls whose trailing metadata is read, which takes 6 % of the client's time for a call.
#: A draining server sends its notices with every call.
_NOTICES_SECONDS = 0.1
#: How much longer than gRPC itself to wait for its answer. An interrupt that reaches gRPC while it lets go of a lock
#: leaves its threads without it, and then no answer comes.
_SLACK_SECONDS = 1.0


class GrpcTransport:
    """Base of both transports: one connection, to the dialled server or to the server that holds the session.

    Args:
        target: HOST:PORT, or any gRPC name.
        wait: How long to wait for the server.
        credentials: Certificates and token.

    Attributes:
        connection: The connection.

    Raises:
        RemoteError: No connection could be made (see `Connection`).
    """

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        self._use(Connection(target, wait, credentials))

    def _use(self, connection: Connection) -> None:
        """Uses this connection for all further calls."""
        self.connection = connection

    def _make_with_ticket(self, message: bytes, timeout: float) -> Reply | None:
        """Makes the session at a server that a gateway names, and connects to it (see `make_with_ticket`)."""
        found = make_with_ticket(self.connection, message, timeout)
        if found is None:
            return None
        self.connection.channel.close()
        self._use(found[0])
        return found[1]

    def _follow(self, made: pb.MakeResponse) -> None:
        """Connects to the address that a new session's server advertises (see `followed`)."""
        there = followed(self.connection, made)
        if there is not self.connection:
            self._use(there)

    def fileno(self) -> int:
        """Returns -1: gRPC waits in its own threads."""
        return -1

    @property
    def front(self) -> tuple[str, Credentials]:
        """Address and credentials of the server's front (see `Fronted.front`)."""
        return self.connection.target, self.connection.credentials

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers (see `Probeable.probe`)."""
        return probe(*self.front, timeout)

    def close(self) -> None:
        """Closes the channel."""
        self.connection.channel.close()


class UnaryTransport(GrpcTransport):
    """One unary call per request; for its arguments see `GrpcTransport`."""

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        super().__init__(target, wait, credentials)
        self._awaited: tuple[str, Any, float] = "", None, 0.0
        self._look_at = 0.0

    def _use(self, connection: Connection) -> None:
        super()._use(connection)
        unary = connection.channel.unary_unary
        self._methods: dict[str, Any] = {kind: unary(path) for kind, path in PATHS.items()}

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        kind, content = REQUESTS.unwrap(request)
        message = header + content
        if kind == "make" and (made := self._make_with_ticket(message, timeout)):
            return made
        method = self._methods[kind]
        # A blocking call switches threads less often than `future` with `result`.
        given = {"timeout": timeout, "metadata": self.connection.metadata}
        if (now := time.monotonic()) < self._look_at:
            return self._reply(lambda: (method(message, **given), None), kind, timeout)
        self._look_at = now + _NOTICES_SECONDS
        return self._reply(partial(method.with_call, message, **given), kind, timeout)

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Starts a call (see `Transport.send`)."""
        self._awaited = *self._begun(request, timeout, header), timeout

    def _begun(self, request: bytes, timeout: float, header: bytes) -> tuple[str, Any]:
        """Starts a call; returns the kind of its request, and the call."""
        kind, content = REQUESTS.unwrap(request)
        future, metadata = self._methods[kind].future, self.connection.metadata
        return kind, future(header + content, timeout=timeout, metadata=metadata)

    def receive(self) -> Reply:
        """Waits for the reply of the call (see `Transport.receive`)."""
        kind, sent, timeout = self._awaited
        return self._reply(lambda: (sent.result(timeout + _SLACK_SECONDS), sent), kind, timeout)

    def _reply(
        self, call: Callable[[], tuple[bytes, Any | None]], kind: str, timeout: float
    ) -> Reply:
        """Returns the reply of a call, or the server's error as a reply."""
        try:
            response, ended = call()
            reply = extract_arrays(response, kind)
            notices = None if ended is None else trailer(ended, TRAILER)
            if kind == "make":
                self._follow(pb.MakeResponse.FromString(response))
            return Reply(reply.message + _beside(notices), reply.area) if notices else reply
        except grpc.RpcError as error:
            if status := status_of(error):
                return Reply(RESPONSES.wrap("error", status))
            raise self.connection.failure(error, timeout) from error
        except grpc.FutureTimeoutError as error:
            raise timed_out(self.connection.target, timeout) from error

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease in the background (see `Transport.keep_alive`)."""
        # Keeps a reference to the call: gRPC cancels calls that are garbage-collected.
        self._renewal = self._begun(request, _RENEW_SECONDS, header)

    def interrupt(self) -> None:
        """Closes the channel, which is the only way to end a blocking call (see `Probeable.interrupt`)."""
        self.connection.channel.close()


class StreamTransport(GrpcTransport):
    """One bidirectional stream for all requests; for its arguments see `GrpcTransport`."""

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._replies: Any = None
        self._deadline = Deadline()
        self._timeout = 0.0
        super().__init__(target, wait, credentials)

    def _use(self, connection: Connection) -> None:
        super()._use(connection)
        self._end()
        self._open: Callable[..., Any] = connection.channel.stream_stream(INTERACT)

    def _start(self) -> None:
        self._requests = SimpleQueue()
        self._replies = self._open(
            iter(self._requests.get, None), metadata=self.connection.metadata
        )
        self._deadline = Deadline(self._replies.cancel)

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        if request[0] != STEP_REQUEST and REQUESTS.kind(request) == "make":
            made = self._make_with_ticket(REQUESTS.unwrap(request)[1], timeout)
            if made:
                return made
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
            reply = extract_arrays(next(self._replies))
            if RESPONSES.kind(reply.message) == "make":
                self._deadline.stop()
                self._follow(pb.InteractResponse.FromString(reply.message).make)
            return reply
        except BaseException as error:
            # So that a late reply cannot be taken for the next request's, the next call opens a new stream.
            self._end()
            if isinstance(error, grpc.RpcError) and (status := status_of(error)):
                return Reply(RESPONSES.wrap("error", status))
            raise self._failure(error, self._timeout) from error
        finally:
            self._deadline.stop()

    def _failure(self, error: BaseException, timeout: float) -> BaseException:
        if self._deadline.missed:
            return timed_out(self.connection.target, timeout)
        if isinstance(error, grpc.RpcError):
            return self.connection.failure(error, timeout)
        if isinstance(error, StopIteration):
            return broken(f"{self.connection.target} ended the stream")
        return error

    def _end(self) -> None:
        # A stream that is neither drained nor cancelled can hang the interpreter at exit.
        if self._replies is not None:
            self._requests.put(None)
            self._replies.cancel()
            self._replies = None

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Does nothing: the open stream keeps the session."""

    def interrupt(self) -> None:
        """Cancels the stream (see `Probeable.interrupt`)."""
        if (replies := self._replies) is not None:
            replies.cancel()

    def close(self) -> None:
        """Closes the stream and the channel."""
        self._end()
        super().close()


def _beside(notices: bytes) -> bytes:
    """Returns the notices of a unary call, encoded as a part of an InteractResponse."""
    parsed = status_pb2.NoticeList.FromString(notices).notices
    return pb.InteractResponse(notices=parsed).SerializeToString()
