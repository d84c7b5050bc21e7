"""Servers that take steps ahead of their answers wrongly."""

from __future__ import annotations

from typing import Any

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mutant import body, caught_by

UNARY = "[unary]"


@caught_by(
    f"ahead.nothing-is-taken-behind-the-end-of-an-episode{UNARY}",
    f"ahead.nothing-is-taken-behind-another-request-or-an-error{UNARY}",
    f"ahead.answers-are-kept-for-steps-sent-ahead{UNARY}",
)
class AheadIsIgnored(Behaviour):
    """Takes each step, and keeps the last answer alone."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        request.step.ClearField("ahead") if request.HasField("step") else None
        return upstream.forward(request)


@caught_by(f"ahead.answers-are-kept-for-steps-sent-ahead{UNARY}")
class TwoAnswersAreKept(Behaviour):
    """Keeps the answers to the last request and the one before, whatever the client has received."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        message: Any = body(request)
        if request.HasField("step"):
            message.ahead = min(message.ahead, 1)
        return upstream.forward(request)


@caught_by(f"ahead.steps-sent-ahead-are-taken-in-order{UNARY}")
class NothingIsTakenAhead(Behaviour):
    """Answers every step that was sent ahead as one that was not taken."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if request.HasField("step") and request.step.ahead:
            return pb.InteractResponse(step=pb.StepResponse(not_taken=True))
        return response
