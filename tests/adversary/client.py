"""An attacker's client that uses only the protos and docs/protocol.md: raw gRPC, raw frames.

It imports the contract's messages and nothing else of envwire, so that it says what it likes in any order it likes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

import grpc
from grpc_health.v1 import health_pb2

from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from tests.adversary.messages import Session, make_request

if TYPE_CHECKING:
    from typing_extensions import Self

SERVICE = "/envwire.v1.EnvironmentService/"
_METHODS = pb.DESCRIPTOR.services_by_name["EnvironmentService"].methods_by_name
_HEALTH = "/grpc.health.v1.Health/Check"
_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
#: No call of an attack waits longer.
SECONDS = 15.0
_SIZES = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class RefusedError(Exception):
    """The server refused a request.

    Attributes:
        reason: The reason of ErrorInfo; when gRPC itself refused, its status code.
        warnings: The texts of the warnings that came with the error.
    """

    def __init__(self, reason: str, message: str, warnings: Sequence[str] = ()) -> None:
        super().__init__(f"{reason}: {message[:300]}")
        self.reason = reason
        self.warnings = list(warnings)


def reason_of(status: status_pb2.ErrorStatus) -> str:
    """Returns the reason in a status; empty if it has none."""
    for detail in status.details:
        if detail.type_url == _INFO:
            return status_pb2.ErrorInfo.FromString(detail.value).reason
    return ""


def warnings_of(status: status_pb2.ErrorStatus) -> list[str]:
    """Returns the texts of the warnings in a status."""
    warnings = [each for each in status.details if each.type_url.endswith("/envwire.v1.Warning")]
    return [status_pb2.Warning.FromString(each.value).text for each in warnings]


def refused(error: grpc.RpcError) -> RefusedError:
    """Returns why a call failed."""
    call: Any = error
    for key, value in call.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.ErrorStatus.FromString(value)
            return RefusedError(reason_of(status), status.message, warnings_of(status))
    return RefusedError(call.code().name, call.details() or "")


def verdict(response: pb.InteractResponse) -> str:
    """Returns the kind of an answer: the name of its field, or the reason of its error."""
    kind = response.WhichOneof("response") or "nothing"
    return reason_of(response.error) if kind == "error" else kind


class Call:
    """A unary call under way."""

    def __init__(self, future: Any, answers: Any) -> None:
        self._future = future
        self._answers = answers

    def answer(self) -> Any:
        """Waits for the answer.

        Raises:
            RefusedError: The server refused.
        """
        try:
            return self._answers.FromString(self._future.result())
        except grpc.RpcError as error:
            raise refused(error) from None

    def verdict(self) -> str:
        """Waits, and returns "answered" or the reason of the refusal."""
        try:
            self.answer()
        except RefusedError as error:
            return error.reason
        return "answered"


class Attacker:
    """A separate gRPC channel to a server.

    Args:
        target: HOST:PORT.
        token: Shown with each call; None for none.
        compression: Of what is sent.
        ca: Certificates of the authority that the server's is from; None without TLS.
    """

    def __init__(
        self,
        target: str,
        token: str | None = None,
        compression: grpc.Compression = grpc.Compression.NoCompression,
        ca: bytes | None = None,
    ) -> None:
        host, _, port = target.rpartition(":")
        self.target = f"{'127.0.0.1' if host in {'0.0.0.0', ''} else host}:{port}"
        own = [*_SIZES, ("grpc.use_local_subchannel_pool", 1)]  # a connection of its own
        self._channel = (
            grpc.insecure_channel(self.target, own, compression)
            if ca is None
            else grpc.secure_channel(
                self.target, grpc.ssl_channel_credentials(ca), own, compression
            )
        )
        self._metadata = () if token is None else (("authorization", f"Bearer {token}"),)

    def begin(self, method: str, message: Any, seconds: float = SECONDS) -> Call:
        """Sends a request without waiting for its answer."""
        raw = message if isinstance(message, bytes) else message.SerializeToString()
        call: Any = self._channel.unary_unary(SERVICE + method)
        answers = getattr(pb, _METHODS[method].output_type.name)
        return Call(call.future(raw, timeout=seconds, metadata=self._metadata), answers)

    def ask(self, session: Session, kind: str, sequence: int, **fields: Any) -> Call:
        """Sends a request of a session as a unary call."""
        method = "".join(word.title() for word in kind.split("_"))
        return self.begin(method, session.body(kind, sequence, **fields))

    def make(self, env_id: str, **settings: Any) -> Session:
        """Makes an environment.

        Raises:
            RefusedError: The server refused.
        """
        answer = self.begin("Make", make_request(env_id, **settings)).answer()
        return Session(answer, self.target)

    def info(self) -> pb.GetServerInfoResponse:
        """Requests the server's capacity. Its answer proves that earlier messages have reached the server."""
        answer: Any = self.begin("GetServerInfo", pb.GetServerInfoRequest()).answer()
        return cast("pb.GetServerInfoResponse", answer)

    def healthy(self, seconds: float = SECONDS, flood: bytes = b"") -> bool:
        """Returns whether the server answers a health check that carries the given message."""
        call: Any = self._channel.unary_unary(_HEALTH)
        try:
            raw = call(flood, timeout=seconds, wait_for_ready=True)
        except grpc.RpcError:
            return False
        return bool(health_pb2.HealthCheckResponse.FromString(raw).status == 1)

    @contextlib.contextmanager
    def stream(self) -> Iterator[Stream]:
        """Opens an Interact stream."""
        stream = Stream(self._channel, self._metadata)
        try:
            yield stream
        finally:
            stream.close()

    def close(self) -> None:
        """Ends the connection and every call on it."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Stream:
    """An Interact stream that sends any bytes, whether an answer came or not."""

    def __init__(self, channel: grpc.Channel, metadata: Iterable[tuple[str, str]]) -> None:
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        interact: Any = channel.stream_stream(SERVICE + "Interact")
        sent = iter(self._requests.get, None)
        self._answers = interact(sent, metadata=tuple(metadata), timeout=4 * SECONDS)

    def send(self, raw: bytes) -> None:
        """Sends a message."""
        self._requests.put(raw)

    def receive(self) -> pb.InteractResponse:
        """Returns the next answer.

        Raises:
            RefusedError: The stream ended.
        """
        try:
            return pb.InteractResponse.FromString(next(self._answers))
        except grpc.RpcError as error:
            raise refused(error) from None

    def say(self, raw: bytes) -> pb.InteractResponse:
        """Sends a message and returns its answer."""
        self.send(raw)
        return self.receive()

    def close(self) -> None:
        """Ends the stream."""
        self._requests.put(None)
        self._answers.cancel()
