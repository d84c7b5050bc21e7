"""Transports over gRPC: unary calls, and one bidirectional stream. The only module of the client that knows gRPC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import grpc

from envwire.client._watchdog import Deadline
from envwire.client.errors import (
    InvalidRequestError,
    RemoteError,
    RequestTimeoutError,
    ServerUnavailableError,
)
from envwire.codec import Reason
from envwire.codec.steps import unwrap, wrap
from envwire.v1 import environment_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
_ERROR = pb.InteractResponse.DESCRIPTOR.fields_by_name["error"].number
_RENEW_SECONDS = 10.0
_STATUS_KEY = "grpc-status-details-bin"

_UNAVAILABLE = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN}
)

_OPTIONS = (
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

    Raises:
        ServerUnavailableError: No server answered in that time.
    """

    def __init__(self, target: str, connect_timeout: float) -> None:
        self.target = target
        self.channel = grpc.insecure_channel(target, _OPTIONS)
        try:
            grpc.channel_ready_future(self.channel).result(connect_timeout)
        except grpc.FutureTimeoutError:
            self.channel.close()
            raise ServerUnavailableError(
                f"no server answers at {target} within {connect_timeout:g} s; is it running "
                "(envwire serve ...), and is the address right?"
            ) from None

    def failure(self, error: grpc.RpcError, timeout: float) -> Exception:
        """Returns the exception for a call that failed without an answer of the server's own."""
        code = error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.UNKNOWN
        details = (error.details() if isinstance(error, grpc.Call) else "") or str(error)
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return timed_out(self.target, timeout)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return too_large(self.target, details)
        text = f"the call to {self.target} failed: {code.name}: {details}"
        return ServerUnavailableError(text) if code in _UNAVAILABLE else RemoteError(text)


def timed_out(target: str, timeout: float) -> RequestTimeoutError:
    """Returns the exception for a reply that did not come in time."""
    return RequestTimeoutError(
        f"no answer from {target} within {timeout:g} s; the request may have been served all the same. Give "
        "RemoteEnv a longer timeout=, or look at what the environment does there"
    )


def too_large(target: str, details: str) -> InvalidRequestError:
    """Returns the exception for a message that gRPC refused for its size."""
    error = InvalidRequestError(
        f"a message to {target} was too large ({details}); the server's operator raises the limit with "
        "--max-message-bytes"
    )
    error.reason = Reason.MESSAGE_TOO_LARGE.value
    return error


def _methods() -> Iterator[tuple[int, int, str]]:
    """Yields the field numbers of request and response, and the path, of each unary method."""
    responses = pb.InteractResponse.DESCRIPTOR.fields_by_name
    for field in pb.InteractRequest.DESCRIPTOR.fields:
        for method in _SERVICE.methods:
            if method.input_type is field.message_type:
                path = f"/{_SERVICE.full_name}/{method.name}"
                yield field.number, responses[field.name].number, path


class UnaryTransport:
    """One unary call for each request.

    Args:
        target: HOST:PORT, or any gRPC name.
        connect_timeout: Seconds to wait for a server there.

    Raises:
        ServerUnavailableError: No server answered in that time.
    """

    def __init__(self, target: str, connect_timeout: float) -> None:
        self._connection = Connection(target, connect_timeout)
        unary = self._connection.channel.unary_unary
        self._calls: dict[int, tuple[Any, int]] = {
            number: (unary(path), answer) for number, answer, path in _methods()
        }

    def exchange(self, request: bytes, timeout: float) -> bytes:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        number, message = unwrap(request)
        method, answer = self._calls[number]
        try:
            return wrap(answer, method(message, timeout=timeout))
        except grpc.RpcError as error:
            if status := _status(error):
                return wrap(_ERROR, status)
            raise self._connection.failure(error, timeout) from error

    def keep_alive(self, request: bytes) -> None:
        """Renews a lease in the background (see `Transport.keep_alive`)."""
        number, message = unwrap(request)
        # The call is kept: gRPC cancels one that nobody holds.
        self._renewal = self._calls[number][0].future(message, timeout=_RENEW_SECONDS)

    def close(self) -> None:
        """Closes the channel."""
        self._connection.channel.close()


def _status(error: grpc.RpcError) -> bytes | None:
    """Returns the server's own account of an error, a Status, when it gave one."""
    if not isinstance(error, grpc.Call):
        return None
    metadata: Any = error.trailing_metadata()
    for key, value in metadata or ():
        if key == _STATUS_KEY and isinstance(value, bytes):
            return value
    return None


class StreamTransport:
    """One bidirectional stream for all requests.

    Args:
        target: HOST:PORT, or any gRPC name.
        connect_timeout: Seconds to wait for a server there.

    Raises:
        ServerUnavailableError: No server answered in that time.
    """

    def __init__(self, target: str, connect_timeout: float) -> None:
        self._connection = Connection(target, connect_timeout)
        self._open: Callable[..., Any] = self._connection.channel.stream_stream(
            f"/{_SERVICE.full_name}/Interact"
        )
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._replies: Any = None
        self._deadline = Deadline()

    def _start(self) -> Any:
        self._requests = SimpleQueue()
        replies = self._replies = self._open(iter(self._requests.get, None))
        self._deadline = Deadline(replies.cancel)
        return replies

    def exchange(self, request: bytes, timeout: float) -> bytes:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        replies = self._replies if self._replies is not None else self._start()
        self._deadline.start(timeout)
        self._requests.put(request)
        try:
            reply: bytes = next(replies)
        except BaseException as error:
            # Whatever it was, a reply that is still to come belongs to nobody: the next call goes on a new stream.
            self._end()
            raise self._failure(error, timeout) from error
        finally:
            self._deadline.stop()
        return reply

    def _failure(self, error: BaseException, timeout: float) -> BaseException:
        if self._deadline.missed:
            return timed_out(self._connection.target, timeout)
        if isinstance(error, grpc.RpcError):
            return self._connection.failure(error, timeout)
        if isinstance(error, StopIteration):
            return ServerUnavailableError(f"{self._connection.target} ended the stream")
        return error

    def _end(self) -> None:
        # A stream that is neither drained nor cancelled can hang the interpreter when it exits.
        if self._replies is not None:
            self._requests.put(None)
            self._replies.cancel()
            self._replies = None

    def keep_alive(self, request: bytes) -> None:
        """Does nothing: the open stream keeps its sessions."""

    def close(self) -> None:
        """Ends the stream and closes the channel."""
        self._end()
        self._connection.channel.close()
