"""A client without envwire's library: bare gRPC calls and their results."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

import grpc

from envwire.codec import Reason, decode_fault, envwire_family
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

if TYPE_CHECKING:
    from typing_extensions import Self

SERVICE = pb.DESCRIPTOR.services_by_name["EnvironmentService"]
PATH = f"/{SERVICE.full_name}/"
METHODS = {method.name: method for method in SERVICE.methods}
UNARY = [name for name, method in METHODS.items() if not method.client_streaming]
#: What carries each method's request on the stream.
FIELDS = {
    method.name: field.name
    for method in SERVICE.methods
    for field in pb.InteractRequest.DESCRIPTOR.fields
    if field.message_type is method.input_type
}


def bearer(token: str | None) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("authorization", f"Bearer {token}"),)


def content(method: str) -> Any:
    """Returns a request of a method; those of a session name one that does not exist."""
    return pb.MakeRequest(env_id="CartPole-v1") if method == "Make" else _empty(method)


def _empty(method: str) -> Any:
    return getattr(pb, METHODS[method].input_type.name)()


def reason(error: grpc.RpcError) -> Reason | None:
    """Returns the server's reason for a call that failed; None when it was gRPC's own."""
    metadata: Any = error.trailing_metadata() if isinstance(error, grpc.Call) else ()
    for key, value in metadata or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.ErrorStatus.FromString(value)
            return decode_fault(status, envwire_family()).reason
    return None


def call(channel: grpc.Channel, method: str, token: str | None) -> Reason | None:
    """Calls a unary method; returns why it was refused, None when it was served."""
    try:
        message = content(method).SerializeToString()
        channel.unary_unary(PATH + method)(message, timeout=20, metadata=bearer(token))
    except grpc.RpcError as error:
        return reason(error)
    return None


class Conversation:
    """An Interact stream."""

    def __init__(self, channel: grpc.Channel, token: str | None = None) -> None:
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        interact = cast("Any", channel.stream_stream(PATH + "Interact"))
        self._replies = interact(iter(self._requests.get, None), metadata=bearer(token), timeout=60)

    def say(self, request: bytes) -> pb.InteractResponse:
        """Sends a message and returns the reply."""
        self._requests.put(request)
        return pb.InteractResponse.FromString(next(self._replies))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.put(None)
        self._replies.cancel()


def refusal(response: pb.InteractResponse) -> Reason | None:
    """Returns the reason of a reply that is an error."""
    if not response.HasField("error"):
        return None
    return decode_fault(response.error, envwire_family()).reason
