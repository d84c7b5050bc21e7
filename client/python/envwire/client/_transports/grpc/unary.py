"""Unary calls: one for each request, and an idle stream that holds the session between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import grpc

from envwire.client._errors import timed_out
from envwire.client._session.requests import GET_STATS
from envwire.client._transports.grpc.forking import forks
from envwire.client._transports.grpc.grpc_connection import (
    PATHS,
    GrpcConnection,
    status_of,
    trailer,
)
from envwire.client._transports.grpc.grpc_transports import (
    END_SECONDS,
    GrpcTransport,
    OpenStream,
    tell,
)
from envwire.client._transports.targets import ConnectWait
from envwire.client.credentials import Credentials
from envwire.codec.errors.statuses import TRAILER
from envwire.codec.fastpath.attached_arrays import extract_arrays
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.wire.envelope import REQUESTS, RESPONSES, with_header
from envwire.wire.frames import Reply

_RENEW_SECONDS = 10.0
#: Seconds between two blocking calls whose trailing metadata is read, which takes 6 % of the client's time for a call.
#: A draining server sends its notices with every call.
_NOTICES_SECONDS = 0.1
#: How much longer than gRPC itself to wait for its answer. An interrupt that reaches gRPC while it lets go of a lock
#: leaves its threads without it, and then no answer comes.
_SLACK_SECONDS = 1.0


class UnaryTransport(GrpcTransport):
    """One unary call per request; for its arguments see `GrpcTransport`."""

    def __init__(self, target: str, wait: ConnectWait, credentials: Credentials) -> None:
        self._renewal: Any = None
        self._presence: OpenStream | None = None
        super().__init__(target, wait, credentials)
        self._awaited: tuple[str, Any, float] = "", None, 0.0
        self._look_at = 0.0

    def _use(self, connection: GrpcConnection) -> None:
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
            self._renewal.add_done_callback(partial(tell, self._renewed))
            self._show_presence(header)

    def _show_presence(self, header: bytes) -> None:
        """Keeps a stream open that holds the session while Python cannot run: gRPC's own threads answer for it.

        A program may hold the interpreter for longer than the lease, in C code or while it is stopped. A server without
        streams ends it, and the calls that renew the lease remain.
        """
        if self._presence is None or self._presence.is_over:
            presence = self._presence = OpenStream(self.connection)
            presence.requests.put(with_header(GET_STATS, header))

    def _end_presence(self) -> OpenStream | None:
        presence, self._presence = self._presence, None
        if presence is not None:
            presence.end()
        return presence

    def interrupt(self) -> None:
        """Closes the channel, which is the only way to end a blocking call (see `Transport.interrupt`)."""
        self.connection.close()

    def _rest(self) -> None:
        super()._rest()
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewed.wait(END_SECONDS)
        if (presence := self._end_presence()) is not None:
            presence.await_end()

    def close(self) -> None:
        """Ends what keeps the session, and closes the channel."""
        with forks.turn:
            self._end_presence()
        super().close()


def _beside(notices: bytes) -> bytes:
    """Returns the notices of a unary call, encoded as a part of an InteractResponse."""
    parsed = status_pb2.NoticeList.FromString(notices).notices
    return pb.InteractResponse(notices=parsed).SerializeToString()
