"""Transports over gRPC: unary calls, and one bidirectional stream."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection
from functools import partial
from queue import SimpleQueue
from typing import Any

import grpc

from envwire.client._drivers.watchdog import Deadline
from envwire.client._errors.connections import broken, timed_out
from envwire.client._session.requests import GET_STATS
from envwire.client._transports.grpc.forking import forks
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
from envwire.client._transports.targets import ConnectWait
from envwire.client.credentials import Credentials
from envwire.client.errors import ServerUnavailableError
from envwire.codec.errors.statuses import TRAILER
from envwire.codec.fastpath.attached_arrays import EXTRACTED_FROM, extract_arrays
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.wire.envelope import REQUESTS, RESPONSES, STEP_REQUEST, STEP_RESPONSE, with_header
from envwire.wire.frames import Reply

_RENEW_SECONDS = 10.0
_STEP_ANSWER = bytes([STEP_RESPONSE])
#: Seconds between two blocking calls whose trailing metadata is read, which takes 6 % of the client's time for a call.
#: A draining server sends its notices with every call.
_NOTICES_SECONDS = 0.1
#: How much longer than gRPC itself to wait for its answer. An interrupt that reaches gRPC while it lets go of a lock
#: leaves its threads without it, and then no answer comes.
_SLACK_SECONDS = 1.0
#: Longest wait for gRPC to be done with a call that was cancelled, which takes about a millisecond.
_END_SECONDS = 1.0


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
        self._held: threading.Lock | None = None
        self._cut = False
        self._use(Connection(target, wait, credentials))

    def _use(self, connection: Connection) -> None:
        """Uses this connection for all further calls."""
        self.connection = connection
        connection.rest, connection.interrupt = self._rest, self._cut_call

    def _begin(self) -> None:
        """Begins a call, or its first half: keeps other threads from forking until `_finish`."""
        if self._held is not None:
            return
        if forks.forking:
            with forks.turn:
                pass
        self.connection.in_use.acquire()
        self.connection.user = threading.get_ident()
        self._held = self.connection.in_use

    def _cut_call(self) -> None:
        """Ends the call that is under way in another thread, for a fork; it raises `_after_cut`."""
        self._cut = True
        self.connection.renew()
        self._use(self.connection)

    def _after_cut(self) -> ServerUnavailableError:
        """Returns the error of a call that a fork has cut, upon which the session repeats its request."""
        self._cut = False
        return broken(f"a fork of this program ended the call to {self.connection.target}")

    def _rest(self) -> None:
        """Closes what is open between calls, for a fork."""
        self._cut = False

    def _finish(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.release()

    def _make_with_ticket(self, message: bytes, timeout: float) -> Reply | None:
        """Makes the session at a server that a gateway names, and connects to it (see `make_with_ticket`)."""
        found = make_with_ticket(self.connection, message, timeout)
        if found is None:
            return None
        self.connection.close()
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

    @property
    def abilities(self) -> Collection[str]:
        """What the server says that it can do (see `Fronted.abilities`)."""
        return self.connection.info.capabilities

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers (see `Probeable.probe`)."""
        return probe(*self.front, timeout)

    def close(self) -> None:
        """Closes the channel."""
        self._finish()
        self.connection.close()


class _Stream:
    """An open stream, and the queue of its requests.

    Args:
        connection: The connection that it uses.
    """

    def __init__(self, connection: Connection) -> None:
        self.requests: SimpleQueue[bytes | None] = SimpleQueue()
        stream_stream: Any = connection.channel.stream_stream
        requests = iter(self.requests.get, None)
        self.replies: Any = stream_stream(INTERACT)(requests, metadata=connection.metadata)
        self._over = threading.Event()
        self.replies.add_done_callback(partial(_tell, self._over))

    def end(self) -> None:
        """Ends it. A stream that is neither drained nor cancelled can hang the interpreter at exit."""
        self.requests.put(None)
        self.replies.cancel()

    @property
    def is_over(self) -> bool:
        """Whether it was ended, here or by the server, or is broken."""
        return self._over.is_set()

    def await_end(self) -> None:
        """Waits until gRPC's threads are done with it. If one of them still sends while a fork begins, both hang."""
        self._over.wait(_END_SECONDS)


class UnaryTransport(GrpcTransport):
    """One unary call per request; for its arguments see `GrpcTransport`."""

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        self._renewal: Any = None
        self._presence: _Stream | None = None
        super().__init__(target, wait, credentials)
        self._awaited: tuple[str, Any, float] = "", None, 0.0
        self._look_at = 0.0

    def _use(self, connection: Connection) -> None:
        super()._use(connection)
        self._end_presence()
        unary = connection.channel.unary_unary
        self._methods: dict[str, Any] = {kind: unary(path) for kind, path in PATHS.items()}

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        self._begin()
        try:
            return self._exchange(request, timeout, header)
        finally:
            self._finish()

    def _exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
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
        self._begin()
        self._awaited = *self._begun(request, timeout, header), timeout

    def _begun(self, request: bytes, timeout: float, header: bytes) -> tuple[str, Any]:
        """Starts a call; returns the kind of its request, and the call."""
        kind, content = REQUESTS.unwrap(request)
        future, metadata = self._methods[kind].future, self.connection.metadata
        return kind, future(header + content, timeout=timeout, metadata=metadata)

    def receive(self) -> Reply:
        """Waits for the reply of the call (see `Transport.receive`)."""
        kind, sent, timeout = self._awaited
        try:
            return self._reply(lambda: (sent.result(timeout + _SLACK_SECONDS), sent), kind, timeout)
        finally:
            self._finish()

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
            raise (
                self._after_cut() if self._cut else self.connection.failure(error, timeout)
            ) from error
        except grpc.FutureTimeoutError as error:
            raise timed_out(self.connection.target, timeout) from error

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease in the background (see `Transport.keep_alive`)."""
        with forks.turn:
            # Keeps a reference to the call: gRPC cancels calls that are garbage-collected.
            _, self._renewal = self._begun(request, _RENEW_SECONDS, header)
            self._renewed = threading.Event()
            self._renewal.add_done_callback(partial(_tell, self._renewed))
            self._show_presence(header)

    def _show_presence(self, header: bytes) -> None:
        """Keeps a stream open that holds the session while Python cannot run: gRPC's own threads answer for it.

        A program may hold the interpreter for longer than the lease, in C code or while it is stopped. A server without
        streams ends it, and the calls that renew the lease remain.
        """
        if self._presence is None or self._presence.is_over:
            presence = self._presence = _Stream(self.connection)
            presence.requests.put(with_header(GET_STATS, header))

    def _end_presence(self) -> _Stream | None:
        presence, self._presence = self._presence, None
        if presence is not None:
            presence.end()
        return presence

    def interrupt(self) -> None:
        """Closes the channel, which is the only way to end a blocking call (see `Probeable.interrupt`)."""
        self.connection.close()

    def _rest(self) -> None:
        super()._rest()
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewed.wait(_END_SECONDS)
        if (presence := self._end_presence()) is not None:
            presence.await_end()

    def close(self) -> None:
        """Ends what keeps the session, and closes the channel."""
        with forks.turn:
            self._end_presence()
        super().close()


def _tell(event: threading.Event, _: object) -> None:
    event.set()


class StreamTransport(GrpcTransport):
    """One bidirectional stream for all requests; for its arguments see `GrpcTransport`."""

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        self._stream: _Stream | None = None
        self._deadline = Deadline()
        self._timeout = 0.0
        super().__init__(target, wait, credentials)

    def _use(self, connection: Connection) -> None:
        super()._use(connection)
        self._end()

    def _start(self) -> _Stream:
        stream = self._stream = _Stream(self.connection)
        self._deadline = Deadline(stream.replies.cancel)
        return stream

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        if request[0] != STEP_REQUEST and REQUESTS.kind(request) == "make":
            self._begin()
            try:
                made = self._make_with_ticket(REQUESTS.unwrap(request)[1], timeout)
            finally:
                self._finish()
            if made:
                return made
        self.send(request, timeout, header)
        return self.receive()

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Writes to the stream (see `Transport.send`)."""
        self._begin()
        stream = self._stream or self._start()
        self._timeout = timeout
        self._deadline.at = time.monotonic() + timeout
        stream.requests.put(with_header(request, header))

    @property
    def pipelines(self) -> bool:
        """Whether a stream is open (see `Pipelined.pipelines`)."""
        return self._stream is not None

    def send_ahead(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Writes to the open stream (see `Pipelined.send_ahead`). The program may fork before it reads the reply."""
        del timeout
        self._begin()
        try:
            if self._stream is None:
                raise broken(f"the stream to {self.connection.target} was ended")
            self._stream.requests.put(with_header(request, header))
        finally:
            self._finish()

    def receive_ahead(self, timeout: float) -> Reply:
        """Reads from the stream (see `Pipelined.receive_ahead`)."""
        self._begin()
        self._timeout = timeout
        self._deadline.at = time.monotonic() + timeout
        return self.receive()

    def receive(self) -> Reply:
        """Reads from the stream (see `Transport.receive`)."""
        try:
            if self._stream is None:  # ended in the meantime, as by a fork
                raise broken(f"the stream to {self.connection.target} was ended")
            message = next(self._stream.replies)
            reply = Reply(message) if len(message) < EXTRACTED_FROM else extract_arrays(message)
            if message[:1] != _STEP_ANSWER and RESPONSES.kind(message) == "make":
                self._deadline.at = math.inf
                self._follow(pb.InteractResponse.FromString(message).make)
            return reply
        except BaseException as error:
            # So that a late reply cannot be taken for the next request's, the next call opens a new stream.
            self._end()
            if isinstance(error, grpc.RpcError) and (status := status_of(error)):
                return Reply(RESPONSES.wrap("error", status))
            raise self._failure(error, self._timeout) from error
        finally:
            self._deadline.at = math.inf
            self._finish()

    def _failure(self, error: BaseException, timeout: float) -> BaseException:
        if self._cut:
            return self._after_cut()
        if self._deadline.missed:
            return timed_out(self.connection.target, timeout)
        if isinstance(error, grpc.RpcError):
            return self.connection.failure(error, timeout)
        if isinstance(error, StopIteration):
            return broken(f"{self.connection.target} ended the stream")
        return error

    def _cut_call(self) -> None:
        self._cut = True
        self.interrupt()

    def _rest(self) -> None:
        super()._rest()
        if (stream := self._stream) is not None:
            self._end()
            stream.await_end()

    def _end(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.end()

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Does nothing: the open stream keeps the session."""

    def interrupt(self) -> None:
        """Cancels the stream (see `Probeable.interrupt`)."""
        if (stream := self._stream) is not None:
            stream.replies.cancel()

    def close(self) -> None:
        """Closes the stream and the channel."""
        with forks.turn:
            self._rest()
        super().close()


def _beside(notices: bytes) -> bytes:
    """Returns the notices of a unary call, encoded as a part of an InteractResponse."""
    parsed = status_pb2.NoticeList.FromString(notices).notices
    return pb.InteractResponse(notices=parsed).SerializeToString()
