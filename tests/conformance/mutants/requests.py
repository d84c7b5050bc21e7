"""Servers that change requests, or accept invalid ones."""

from __future__ import annotations

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mutant import caught_by, reason


@caught_by("resets.a-seed-decides-the-episode[unary]")
class SeedIsIgnored(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        request.reset.ClearField("seed") if request.HasField("reset") else None
        return upstream.forward(request)


@caught_by(
    "resets.without-a-seed-the-generator-goes-on[unary]",
    "sequence.a-repeated-reset-is-done-once[unary]",
)
class EveryResetIsSeeded(Behaviour):
    """Seeds a reset that has no seed: the draws start again, and a repetition with another seed is another request."""

    def __init__(self) -> None:
        self.seed = 0

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("reset") and not request.reset.HasField("seed"):
            self.seed += 1
            request.reset.seed.int_value = self.seed
        return upstream.forward(request)


@caught_by("resets.options-reach-the-environment[direct]")
class OptionsAreIgnored(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        request.reset.ClearField("options") if request.HasField("reset") else None
        return upstream.forward(request)


@caught_by("steps.a-step-without-action-is-refused[unary]")
class MissingActionIsZero(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("step") and not request.step.action.WhichOneof("kind"):
            request.step.action.int_value = 0
        return upstream.forward(request)


@caught_by(
    "values.a-broken-value-is-refused/opaque[unary]",
    "values.a-broken-value-is-refused/data-too-short[unary]",
    "values.a-broken-value-is-refused/key-twice[stream]",
)
class BrokenValueIsZero(Behaviour):
    """Answers 0 for unreadable values."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if reason(response) == "INVALID_VALUE" and request.HasField("step"):
            return pb.InteractResponse(step=pb.StepResponse(reward=1.0))
        return response


@caught_by("steps.nothing-is-reset-by-itself[unary]")
class EpisodeIsResetByItself(Behaviour):
    def __init__(self) -> None:
        self.more = 0

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("step"):
            request.step.sequence += self.more
        response = upstream.forward(request)
        if response.step.terminated:
            self.more += 1
            header, number = request.step.header, request.step.sequence + 1
            upstream.forward(
                pb.InteractRequest(reset=pb.ResetRequest(header=header, sequence=number))
            )
        return response


@caught_by("steps.an-action-is-not-checked-before-the-step[unary]")
class ActionIsCheckedBefore(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("step") and request.step.action.int_value > 1:
            request.step.ClearField("action")
        return upstream.forward(request)


@caught_by("saved_states.a-state-is-restored-as-often-as-one-likes[unary]")
class StateIsRestoredOnce(Behaviour):
    def __init__(self) -> None:
        self.restored: set[int] = set()

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        state = request.restore_state.state
        if state in self.restored:
            request.restore_state.state = 999
        self.restored.add(state)
        return upstream.forward(request)


@caught_by("vectors.a-seed-is-spread[unary]")
class MembersShareASeed(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("reset") and request.reset.seed.HasField("int_value"):
            seed = request.reset.seed.int_value
            for _ in range(3):
                request.reset.seed.list.values.add(int_value=seed)
        return upstream.forward(request)


@caught_by("attributes.a-new-attribute-is-forced[unary]")
class EveryAttributeIsForced(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("set_attribute"):
            request.set_attribute.force = True
        return upstream.forward(request)


@caught_by("attributes.a-probe-finds-without-reading[unary]")
class ProbeReads(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("get_attribute"):
            request.get_attribute.probe = False
        return upstream.forward(request)


@caught_by(
    "replays.the-digest-is-that-of-the-answers[unary]",
    "replays.an-error-counts-as-its-reason[unary]",
)
class DigestIsOfTheRequests(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if response.HasField("replay"):
            response.replay.digest = bytes(16)
        return response
