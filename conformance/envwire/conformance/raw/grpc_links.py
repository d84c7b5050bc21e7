"""Unary calls and the Interact stream, with messages as bytes."""

from __future__ import annotations

import re
from queue import Empty, SimpleQueue
from typing import Any, cast

import grpc

from envwire.conformance.outcomes import FailedError
from envwire.conformance.raw.access import MAX_ANSWER_BYTES, Access, too_large
from envwire.conformance.raw.answers import Answer
from envwire.conformance.raw.trace import Trace
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

_SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
#: The method of each field of InteractRequest.
METHODS = {
    field.name: method.name
    for method in _SERVICE.methods
    for field in pb.InteractRequest.DESCRIPTOR.fields
    if field.message_type is method.input_type
}
#: ServerReflectionRequest with `list_services`, field 7, an empty string.
_LIST_SERVICES = b"\x3a\x00"
STATUS_KEY, NOTICES_KEY = "grpc-status-details-bin", "envwire-notices-bin"
#: How gRPC reports an answer above the limit of this side.
_TOO_LARGE = re.compile(rf"larger than max \((\d+) vs\. {MAX_ANSWER_BYTES}\)")


class Grpc:
    """One gRPC channel.

    Args:
        access: How to reach the server.
        trace: Records what is sent and received.
    """

    def __init__(self, access: Access, trace: Trace) -> None:
        self.access = access
        self.trace = trace
        self._channel: Any = access.channel()

    def call(
        self, method: str, request: bytes, seconds: float, service: str = _SERVICE.full_name
    ) -> bytes:
        """Calls a unary method.

        Raises:
            grpc.RpcError: The call failed.
        """
        callable_ = self._channel.unary_unary(f"/{service}/{method}")
        return cast("bytes", callable_(request, timeout=seconds, metadata=self.access.metadata()))

    def begin(self, method: str, request: bytes, seconds: float) -> Any:
        """Starts a unary call, and returns its future."""
        callable_ = self._channel.unary_unary(f"/{_SERVICE.full_name}/{method}")
        return callable_.future(request, timeout=seconds, metadata=self.access.metadata())

    def stream(self, requests: Any, seconds: float) -> Any:
        """Opens an Interact stream."""
        callable_ = self._channel.stream_stream(f"/{_SERVICE.full_name}/Interact")
        return callable_(requests, timeout=seconds, metadata=self.access.metadata())

    def reflect(self, seconds: float) -> bytes:
        """Lists the services by reflection, and returns the answer.

        Raises:
            grpc.RpcError: The server has no reflection.
        """
        path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        callable_ = self._channel.stream_stream(path)
        answers = callable_(iter([_LIST_SERVICES]), timeout=seconds)
        return cast("bytes", next(answers))

    def close(self) -> None:
        """Closes it."""
        self._channel.close()


class UnaryLink:
    """Carries requests as unary calls."""

    name = "unary"
    shows_header = True

    def __init__(self, grpc_channel: Grpc) -> None:
        self._grpc = grpc_channel

    def exchange(self, request: pb.InteractRequest, seconds: float) -> Answer:
        """Sends a request, and waits for its answer."""
        return self.await_answer(request.WhichOneof("request") or "", self.begin(request, seconds))

    def exchange_bytes(self, kind: str, request: bytes, seconds: float) -> Answer:
        """Sends the bytes of a request of one kind, and waits for its answer."""
        return self.await_answer(kind, self._grpc.begin(METHODS[kind], request, seconds))

    def begin(self, request: pb.InteractRequest, seconds: float) -> Any:
        """Sends a request, and returns the future of its answer."""
        kind = request.WhichOneof("request") or ""
        self._grpc.trace.sent(self.name, request)
        return self._grpc.begin(METHODS[kind], getattr(request, kind).SerializeToString(), seconds)

    def await_answer(self, kind: str, future: Any) -> Answer:
        """Waits for the answer of a call that `begin` started."""
        response = pb.InteractResponse()
        raw = b""
        try:
            raw = future.result()
        except grpc.RpcError as error:
            response.error.CopyFrom(status_of(error))
        else:
            message = getattr(response, kind)
            message.SetInParent()
            message.MergeFromString(raw)
        for key, value in future.trailing_metadata() or ():
            if key == NOTICES_KEY:
                response.notices.extend(status_pb2.NoticeList.FromString(value).notices)
        self._grpc.trace.received(self.name, response)
        return Answer(response, raw)

    def close(self) -> None:
        """Does nothing: all calls of a check share the channel."""


class StreamLink:
    """One Interact stream."""

    name = "stream"
    shows_header = True

    def __init__(self, grpc_channel: Grpc, seconds: float) -> None:
        self._trace = grpc_channel.trace
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._answers = grpc_channel.stream(iter(self._requests.get, None), seconds)

    def send(self, request: bytes) -> None:
        """Sends bytes as one message."""
        self._requests.put(request)

    def receive(self) -> Answer:
        """Waits for the next answer.

        Raises:
            FailedError: The stream ended instead.
        """
        try:
            raw = next(self._answers)
        except StopIteration:
            raise FailedError("an answer on the stream, not its end") from None
        except grpc.RpcError as error:
            status = status_of(error)
            raise FailedError(
                f"an answer on the stream, not {status.code}: {status.message}"
            ) from None
        response = pb.InteractResponse.FromString(raw)
        self._trace.received(self.name, response)
        return Answer(response, raw)

    def exchange(self, request: pb.InteractRequest, seconds: float) -> Answer:
        """Sends a request, and waits for its answer; the deadline is the stream's."""
        del seconds
        self._trace.sent(self.name, request)
        self.send(request.SerializeToString())
        return self.receive()

    def status(self) -> status_pb2.ErrorStatus:
        """Waits for the end of the stream, and returns its status; ignores further answers."""
        try:
            for _ in self._answers:
                continue
        except grpc.RpcError as error:
            return status_of(error)
        return status_pb2.ErrorStatus()

    def half_close(self) -> None:
        """Half-closes the stream: no further request follows."""
        self._requests.put(None)

    def close(self) -> None:
        """Ends the stream at once."""
        self.half_close()
        self._answers.cancel()
        try:
            while True:
                self._requests.get_nowait()
        except Empty:
            self._requests.put(None)


def status_of(error: grpc.RpcError) -> status_pb2.ErrorStatus:
    """Returns the status of a failed call: the detailed one if there is one, else code and text.

    Raises:
        FailedError: The answer was too large to be taken in.
    """
    call = cast("Any", error)
    if found := _TOO_LARGE.search(call.details() or ""):
        raise too_large(f"{found[1]} bytes") from None
    for key, value in call.trailing_metadata() or ():
        if key == STATUS_KEY:
            return status_pb2.ErrorStatus.FromString(value)
    return status_pb2.ErrorStatus(code=call.code().value[0], message=call.details() or "")
