"""Servers with a defective stream or direct channel."""

from __future__ import annotations

from envwire.conformance.proxy import Behaviour, CutError, Upstream
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mutant import caught_by, reason


@caught_by("endings.another-channel-closes-the-first[direct]")
class EarlierChannelStays(Behaviour):
    closes_earlier_channels = False


@caught_by("endings.close-ends-the-channel[direct]")
class ChannelStaysAfterClose(Behaviour):
    closes_after_close = False


@caught_by("opening.another-beginning-is-closed/version-2[direct]")
class PreambleIsNotLookedAt(Behaviour):
    checks_preamble = False


@caught_by(
    "opening.a-wrong-secret-gets-no-channel/other[direct]",
    "opening.an-unknown-session-gets-no-channel[direct]",
)
class HelloIsNotLookedAt(Behaviour):
    checks_hello = False


@caught_by("opening.a-header-is-refused-here[direct]")
class HeaderIsTakenOnAChannel(Behaviour):
    refuses_headers = False


@caught_by(
    "frames.a-frame-that-may-not-be-ends-the-channel/too-much[direct]",
    "frames.a-frame-that-may-not-be-ends-the-channel/slot[direct]",
)
class FramesAreNotBounded(Behaviour):
    bounds_frames = False


@caught_by("frames.who-does-not-read-loses-the-channel[direct]")
class WaitsForWhoDoesNotRead(Behaviour):
    send_seconds = None


@caught_by("streams.an-error-does-not-end-the-stream[stream]")
class ErrorEndsTheStream(Behaviour):
    answers_errors = False


@caught_by("opening.a-hello-is-welcome[direct]")
class WelcomeTellsNoLimit(Behaviour):
    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        if answer.HasField("welcome"):
            answer.welcome.max_message_bytes = 0
        return answer


@caught_by(
    "endings.a-closed-session-gets-no-channel[direct]",
    "opening.an-unknown-session-gets-no-channel[direct]",
)
class RefusalSaysNothing(Behaviour):
    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        if answer.HasField("error"):
            del answer.error.details[:]
        return answer


@caught_by("sequence.a-gap-is-refused/two-ahead[direct]")
class ErrorEndsTheChannel(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if upstream.link == "direct" and reason(response):
            raise CutError
        return response


@caught_by(
    "streams.answers-come-in-order[stream]", "opening.several-frames-may-arrive-at-once[direct]"
)
class EverySecondAnswerIsTheOneBefore(Behaviour):
    def __init__(self) -> None:
        self.answers: list[pb.InteractResponse] = []

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        self.answers.append(upstream.forward(request))
        steps = request.HasField("step") and len(self.answers) % 2
        return self.answers[-2] if steps else self.answers[-1]


@caught_by("frames.an-array-of-any-size-comes-whole/4096[direct]")
class FrameIsCutShort(Behaviour):
    def frames(self, frame: bytes) -> list[bytes]:
        return [frame[:4000]]
