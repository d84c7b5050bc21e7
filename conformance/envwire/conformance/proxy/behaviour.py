"""What a proxy does to requests and answers; the base class forwards them unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

#: Sends a request to the server behind the proxy, and returns its answer.
Forward: TypeAlias = Callable[[pb.InteractRequest], pb.InteractResponse]


class CutError(Exception):
    """Raised by a behaviour to cut the connection that the request came on, without an answer."""


@dataclass(frozen=True)
class Upstream:
    """The server behind the proxy, for one request.

    Attributes:
        link: How the request arrived: "unary", "stream" or "direct".
        forward: Forwards a request.
    """

    link: str
    forward: Forward


class Behaviour:
    """Serves each request by forwarding it. Each subclass misbehaves in one way.

    Attributes:
        closes_earlier_channels: Whether a new direct channel closes the previous one.
        closes_after_close: Whether a direct channel is closed after the answer to `Close`.
        checks_preamble: Whether a direct channel has to begin with the preamble.
        checks_hello: Whether a hello needs the header of a session.
        refuses_headers: Whether requests with a header are refused on a direct channel.
        bounds_frames: Whether a client's frames are limited in size, and may have neither attachments nor a slot.
        holds_sessions: Whether an open stream or direct channel keeps its sessions alive.
        answers_errors: Whether a stream goes on after an error.
        host: Address of the proxy's gRPC port.
        tls: Whether that port speaks TLS.
        send_seconds: Longest time that a frame takes on a direct channel, in seconds; None for any.
    """

    closes_earlier_channels = True
    closes_after_close = True
    checks_preamble = True
    checks_hello = True
    refuses_headers = True
    bounds_frames = True
    holds_sessions = True
    answers_errors = True
    host = "127.0.0.1"
    tls = False
    send_seconds: float | None = 30.0

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        """Returns the answer to a request.

        Raises:
            CutError: The connection is to be cut instead.
        """
        return upstream.forward(request)

    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        """Returns the answer to a hello."""
        return answer

    def frames(self, frame: bytes) -> list[bytes]:
        """Returns the pieces in which a frame is sent on a direct channel."""
        return [frame]
