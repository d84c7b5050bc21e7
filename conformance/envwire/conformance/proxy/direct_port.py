"""The direct port of a proxy: frames on plain sockets, with one thread per connection."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any, Protocol

from google.protobuf.message import DecodeError, Message

from envwire.conformance.outcomes import FailedError
from envwire.conformance.proxy.backend import Backend
from envwire.conformance.proxy.behaviour import CutError, Upstream
from envwire.conformance.proxy.grpc_port import malformed
from envwire.conformance.raw.direct_link import HEADER, PREAMBLE, frame
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

_HELLO_SECONDS = 5.0
_HELLO_BYTES = 1024
#: Largest message of a client.
MAX_BYTES = 64 * 1024 * 1024
#: Requests that are only allowed over gRPC.
_NOT_HERE = {"make", "list_environments", "get_server_info", "renew_lease", "get_session_stats"}


class Connection(Protocol):
    """A socket, or something that is read and written like one."""

    def recv(self, size: int, /) -> bytes:
        """Waits for bytes, and returns them; none at the end."""
        ...

    def sendall(self, data: bytes, /) -> None:
        """Sends bytes."""
        ...

    def settimeout(self, seconds: float | None, /) -> None:
        """Sets the longest wait."""
        ...


class _EndedError(Exception):
    """The connection has ended, or has to end."""


class DirectPort:
    """Accepts direct channels.

    Args:
        backend: The server behind.
        listener: Where it accepts them; by default a TCP port on 127.0.0.1.
    """

    def __init__(self, backend: Backend, listener: socket.socket | None = None) -> None:
        self._backend = backend
        self._listener = listener or socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._open: dict[str, socket.socket] = {}
        self._all: set[socket.socket] = set()

    @property
    def port(self) -> int:
        """The TCP port."""
        port: int = self._listener.getsockname()[1]
        return port

    def start(self) -> None:
        """Starts to accept connections."""
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """Stops accepting, and closes all connections."""
        _hang_up(self._listener)
        with self._lock:
            connections = list(self._all)
        for connection in connections:
            _hang_up(connection)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._all.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(_EndedError, OSError, CutError, FailedError):
                self._converse(connection)
        except ValueError:
            # gRPC's, of a channel that the proxy has closed since it stopped.
            if self._listener.fileno() >= 0:
                raise
        finally:
            with self._lock:
                self._all.discard(connection)
            _hang_up(connection)

    def _converse(self, connection: socket.socket) -> None:
        behaviour = self._backend.behaviour
        connection.settimeout(_HELLO_SECONDS)
        if _exactly(connection, len(PREAMBLE)) != PREAMBLE and behaviour.checks_preamble:
            return
        opened = self._hello(connection)
        if opened is None:
            return
        header, channel = opened
        upstream, held = self._backend.held("direct")
        try:
            # The server behind keeps a session for a stream that used it.
            upstream.forward(
                pb.InteractRequest(get_session_stats=pb.GetSessionStatsRequest(header=header))
            )
            self._serve_requests(channel, header, upstream)
        finally:
            held.close()

    def _hello(self, connection: socket.socket) -> tuple[pb.SessionHeader, Connection] | None:
        """Reads and answers a hello; returns the session's header and the channel if it is accepted."""
        answer = direct_pb2.HelloResponse()
        hello = self._read_hello(connection, answer)
        if not answer.HasField("error"):
            header = self._checked(hello.header, answer)
            if not answer.HasField("error"):
                answer.welcome.max_message_bytes = MAX_BYTES
                channel = self.welcome(connection, hello, self._backend.behaviour.greet(answer))
                self._take_place(header.session_id, connection)
                return header, channel
        self._send(connection, self._backend.behaviour.greet(answer))
        return None

    def welcome(
        self,
        connection: socket.socket,
        hello: direct_pb2.HelloRequest,  # noqa: ARG002 - for ports that offer what it asks for
        answer: direct_pb2.HelloResponse,
    ) -> Connection:
        """Sends a welcome, and returns what requests are read from and answers written to."""
        self._send(connection, answer)
        return connection

    def _read_hello(
        self, connection: socket.socket, answer: direct_pb2.HelloResponse
    ) -> direct_pb2.HelloRequest:
        length, _, _ = HEADER.unpack(_exactly(connection, HEADER.size))
        if length > _HELLO_BYTES:
            answer.error.CopyFrom(malformed("a hello of more than 1,024 bytes").error)
            return direct_pb2.HelloRequest()
        try:
            return direct_pb2.HelloRequest.FromString(_exactly(connection, length))
        except DecodeError:
            answer.error.CopyFrom(malformed("not a HelloRequest").error)
            return direct_pb2.HelloRequest()

    def _checked(
        self, header: pb.SessionHeader, answer: direct_pb2.HelloResponse
    ) -> pb.SessionHeader:
        """Asks the server behind about a session, and writes its refusal, if any, into the answer."""
        if not self._backend.behaviour.checks_hello:
            secret = self._backend.secret_of(header.session_id)
            return pb.SessionHeader(session_id=header.session_id, secret=secret)
        renew = pb.InteractRequest(renew_lease=pb.RenewLeaseRequest(header=header))
        response = self._backend.behaviour.serve(renew, self._backend.unary())
        if response.HasField("error"):
            answer.error.CopyFrom(response.error)
        return header

    def _take_place(self, session_id: str, connection: socket.socket) -> None:
        with self._lock:
            earlier = self._open.get(session_id)
            self._open[session_id] = connection
        if earlier is not None and self._backend.behaviour.closes_earlier_channels:
            _hang_up(earlier)

    def _serve_requests(
        self, connection: Connection, header: pb.SessionHeader, upstream: Upstream
    ) -> None:
        while True:
            response = self._answer(self._read(connection), header, upstream)
            if _lost(response):  # the channel ends with the process
                return
            self._send(connection, response)
            if response.HasField("close") and self._backend.behaviour.closes_after_close:
                return

    def _read(self, connection: Connection) -> bytes:
        length, slot, attached = HEADER.unpack(_exactly(connection, HEADER.size))
        if self._backend.behaviour.bounds_frames and (length > MAX_BYTES or slot or attached):
            raise _EndedError
        return _exactly(connection, length)

    def _answer(
        self, raw: bytes, header: pb.SessionHeader, upstream: Upstream
    ) -> pb.InteractResponse:
        try:
            request = pb.InteractRequest.FromString(raw)
        except DecodeError:
            return malformed("not an InteractRequest")
        kind = request.WhichOneof("request")
        if kind is None or kind in _NOT_HERE:
            return malformed(f"{kind or 'a request of no kind'} does not go here")
        message = getattr(request, kind)
        if message.HasField("header") and self._backend.behaviour.refuses_headers:
            return malformed("a request with a header")
        message.header.CopyFrom(header)
        return self._backend.behaviour.serve(request, upstream)

    def _send(self, connection: Connection, message: Message) -> None:
        connection.settimeout(self._backend.behaviour.send_seconds)
        for piece in self._backend.behaviour.frames(frame(message)):
            connection.sendall(piece)
        connection.settimeout(None)


def _lost(response: pb.InteractResponse) -> bool:
    """Returns whether an answer says that the session's process has died, which ends its channel."""
    details = response.error.details
    return any(b"SESSION_LOST" in one.value or b"STEP_TIMEOUT" in one.value for one in details)


def _exactly(connection: Connection, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        more = connection.recv(min(length - len(data), 1 << 20))
        if not more:
            raise _EndedError
        data += more
    return bytes(data)


def _hang_up(connection: Any) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
