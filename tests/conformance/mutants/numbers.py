"""Servers that count requests wrongly."""

from __future__ import annotations

from typing import Any

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mutant import body, caught_by, reason

UNARY = "[unary]"


class Renumbering(Behaviour):
    """Forwards each request under the number that the real server expects.

    Attributes:
        next: That number, by session.
        last: The last number of the client, and its request.
    """

    def __init__(self) -> None:
        self.next: dict[str, int] = {}
        self.last: dict[str, tuple[int, bytes]] = {}

    def number(self, request: pb.InteractRequest) -> int | None:
        """Returns the number under which a request is forwarded, and counts it; None to forward it unchanged."""
        message: Any = body(request)
        session = message.header.session_id
        expected = self.next.get(session, 1)
        if not self.takes(session, message.sequence, request):
            return None
        self.next[session] = expected + 1
        self.last[session] = (message.sequence, request.SerializeToString())
        return expected

    def takes(self, session: str, sequence: int, request: pb.InteractRequest) -> bool:
        """Returns whether a request is served under a new number."""
        raise NotImplementedError

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        message: Any = body(request)
        if "sequence" in message.DESCRIPTOR.fields_by_name:
            renumbered = self.number(request)
            known = self.last.get(message.header.session_id, (0, b""))[0]
            behind = self.next.get(message.header.session_id, 1) - 1
            message.sequence = (
                message.sequence - known + behind if renumbered is None else renumbered
            )
        return upstream.forward(request)


@caught_by(
    f"sequence.a-repeated-step-is-taken-once{UNARY}",
    "streams.duplicates-in-flight-are-one-step[stream]",
    "frames.duplicates-on-the-channel-are-one-step[direct]",
)
class RepeatedRequestIsServedAgain(Renumbering):
    def takes(self, session: str, sequence: int, request: pb.InteractRequest) -> bool:
        known, same = self.last.get(session, (0, b""))
        return sequence == known + 1 or (sequence == known and same == request.SerializeToString())


@caught_by(
    f"sequence.a-gap-is-refused/two-ahead{UNARY}",
    f"sequence.requests-are-numbered-from-one{UNARY}",
    "streams.reordered-requests-are-refused[stream]",
)
class GapIsServed(Renumbering):
    def takes(self, session: str, sequence: int, request: pb.InteractRequest) -> bool:
        return sequence > self.last.get(session, (0, b""))[0]


@caught_by(f"sequence.an-earlier-number-is-refused{UNARY}")
class EarlierNumberIsServed(Renumbering):
    def takes(self, session: str, sequence: int, request: pb.InteractRequest) -> bool:
        known = self.last.get(session, (0, b""))[0]
        return sequence == known + 1 or 0 < sequence < known


@caught_by(f"sequence.a-number-is-not-used-for-another-request{UNARY}")
class NumberIsReused(Renumbering):
    def takes(self, session: str, sequence: int, request: pb.InteractRequest) -> bool:
        known, same = self.last.get(session, (0, b""))
        return sequence == known + 1 or (sequence == known and same != request.SerializeToString())


@caught_by(f"sequence.a-number-is-not-used-for-another-request{UNARY}")
class KeptAnswerForAnotherRequest(Behaviour):
    """Compares the number alone."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[int, pb.InteractResponse]] = {}

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        message: Any = body(request)
        number = getattr(message, "sequence", 0)
        session = message.header.session_id if number else ""
        if number and self.kept.get(session, (0,))[0] == number:
            return self.kept[session][1]
        response = upstream.forward(request)
        if number and reason(response) not in {"SEQUENCE_GAP", "SEQUENCE_REUSED"}:
            self.kept[session] = (number, response)
        return response


@caught_by(f"steps.a-step-is-taken-once{UNARY}", "steps.a-step-is-taken-once[direct]")
class ThirdStepIsLost(Behaviour):
    """Answers every third step with the answer before, and does not take it."""

    def __init__(self) -> None:
        self.steps = 0
        self.answer = pb.InteractResponse()
        self.missing = 0

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("step"):
            self.steps += 1
            if self.steps % 3 == 0:
                self.missing += 1
                return self.answer
            request.step.sequence -= self.missing
        self.answer = upstream.forward(request)
        return self.answer


@caught_by(f"steps.a-step-is-taken-once{UNARY}", "steps.an-episode-ends[stream]")
class StepIsTakenTwice(Behaviour):
    def __init__(self) -> None:
        self.more: dict[str, int] = {}

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        message: Any = body(request)
        if not getattr(message, "sequence", 0):
            return upstream.forward(request)
        session = message.header.session_id
        message.sequence += self.more.get(session, 0)
        response = upstream.forward(request)
        if not response.HasField("step"):
            return response
        self.more[session] = self.more.get(session, 0) + 1
        request.step.sequence += 1
        return upstream.forward(request)


@caught_by(
    f"sequence.a-failed-request-uses-its-number{UNARY}",
    f"sequence.a-refused-value-uses-its-number{UNARY}",
)
class FailureUsesNoNumber(Behaviour):
    """Takes the number of a request that failed for the next one, too."""

    USES_NONE = frozenset({"SEQUENCE_GAP", "SEQUENCE_REUSED", "WRONG_SECRET", "UNKNOWN_SESSION"})

    def __init__(self) -> None:
        self.failed: dict[str, int] = {}

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        message: Any = body(request)
        if not getattr(message, "sequence", 0):
            return upstream.forward(request)
        session = message.header.session_id
        message.sequence += self.failed.get(session, 0)
        response = upstream.forward(request)
        if response.HasField("error") and reason(response) not in self.USES_NONE:
            self.failed[session] = self.failed.get(session, 0) + 1
        return response
