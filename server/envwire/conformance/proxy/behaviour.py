"""What a proxy does to what goes through it. By itself it does nothing."""

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
class Via:
    """How a request came.

    Attributes:
        link: "unary", "stream" or "direct".
        forward: Sends a request on.
    """

    link: str
    forward: Forward


class Behaviour:
    """Serves each request of any link by sending it on. Subclasses misbehave in one way.

    Attributes:
        closes_earlier_channels: Whether a new direct channel closes the one before.
        closes_after_close: Whether a direct channel is closed behind the answer of `Close`.
        checks_preamble: Whether a direct channel has to begin with the eight bytes.
        checks_hello: Whether the header of a hello has to be that of a session.
        refuses_headers: Whether requests on a direct channel must not have one.
        bounds_frames: Whether frames of a client are bounded, and have neither attachments nor a slot.
        holds_sessions: Whether an open stream or direct channel keeps its sessions.
        answers_errors: Whether a stream goes on after an error.
    """

    closes_earlier_channels = True
    closes_after_close = True
    checks_preamble = True
    checks_hello = True
    refuses_headers = True
    bounds_frames = True
    holds_sessions = True
    answers_errors = True

    def serve(self, request: pb.InteractRequest, via: Via) -> pb.InteractResponse:
        """Returns the answer of a request.

        Raises:
            CutError: The connection ends instead.
        """
        return via.forward(request)

    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        """Returns the answer of a hello."""
        return answer

    def frames(self, frame: bytes) -> list[bytes]:
        """Returns what is sent on a direct channel for a frame, piece by piece."""
        return [frame]
