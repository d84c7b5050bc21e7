"""Transports over gRPC: what both have in common, and the one over a bidirectional stream."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection
from functools import partial
from queue import SimpleQueue
from typing import Any

import grpc

from envwire.client._drivers.watched import Deadline
from envwire.client._errors import broken, timed_out
from envwire.client._transports.grpc.forking import forks
from envwire.client._transports.grpc.gateway import make_with_ticket
from envwire.client._transports.grpc.grpc_connection import (
    INTERACT,
    GrpcConnection,
    followed,
    probe,
    status_of,
)
from envwire.client._transports.targets import ConnectWait
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.client.errors import ServerUnavailableError
from envwire.codec.fastpath.attached_arrays import EXTRACTED_FROM, extract_arrays
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import REQUESTS, RESPONSES, STEP_REQUEST, STEP_RESPONSE, with_header
from envwire.wire.frames import Reply

_STEP_ANSWER = bytes([STEP_RESPONSE])
#: Longest wait for gRPC to be done with a call that was cancelled, which takes about a millisecond.
END_SECONDS = 1.0


class GrpcTransport(Transport):
    """Base of both transports: one connection, to the dialled server or to the server that holds the session.

    Args:
        target: HOST:PORT, or any gRPC name.
        wait: How long to wait for the server.
        credentials: Certificates and token.

    Attributes:
        connection: The connection.

    Raises:
        RemoteError: No connection could be made (see `GrpcConnection`).
    """

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        self._held: threading.Lock | None = None
        self._cut = False
        self._use(GrpcConnection(target, wait, credentials))

    def _use(self, connection: GrpcConnection) -> None:
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
        """Address and credentials of the server's front (see `Transport.front`)."""
        return self.connection.target, self.connection.credentials

    @property
    def abilities(self) -> Collection[str]:
        """What the server says that it can do (see `Transport.abilities`)."""
        return self.connection.info.capabilities

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers (see `Transport.probe`)."""
        return probe(*self.front, timeout)

    def close(self) -> None:
        """Closes the channel."""
        self._finish()
        self.connection.close()


def tell(event: threading.Event, _: object) -> None:
    event.set()


class OpenStream:
    """An open stream, and the queue of its requests.

    Args:
        connection: The connection that it uses.
    """

    def __init__(self, connection: GrpcConnection) -> None:
        self.requests: SimpleQueue[bytes | None] = SimpleQueue()
        stream_stream: Any = connection.channel.stream_stream
        requests = iter(self.requests.get, None)
        self.replies: Any = stream_stream(INTERACT)(requests, metadata=connection.metadata)
        self._over = threading.Event()
        self.replies.add_done_callback(partial(tell, self._over))

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
        self._over.wait(END_SECONDS)


class StreamTransport(GrpcTransport):
    """One bidirectional stream for all requests; for its arguments see `GrpcTransport`."""

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        self._stream: OpenStream | None = None
        self._deadline = Deadline()
        self._timeout = 0.0
        super().__init__(target, wait, credentials)

    def _use(self, connection: GrpcConnection) -> None:
        super()._use(connection)
        self._end()

    def _start(self) -> OpenStream:
        stream = self._stream = OpenStream(self.connection)
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
        """Whether a stream is open (see `Transport.pipelines`)."""
        return self._stream is not None

    def send_ahead(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Writes to the open stream (see `Transport.send_ahead`). The program may fork before it reads the reply."""
        del timeout
        self._begin()
        try:
            if self._stream is None:
                raise broken(f"the stream to {self.connection.target} was ended")
            self._stream.requests.put(with_header(request, header))
        finally:
            self._finish()

    def receive_ahead(self, timeout: float) -> Reply:
        """Reads from the stream (see `Transport.receive_ahead`)."""
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
        """Cancels the stream (see `Transport.interrupt`)."""
        if (stream := self._stream) is not None:
            stream.replies.cancel()

    def close(self) -> None:
        """Closes the stream and the channel."""
        with forks.turn:
            self._rest()
        super().close()
