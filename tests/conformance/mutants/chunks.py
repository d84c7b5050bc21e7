"""Servers that take the steps of chunks wrongly, or say less of them than they did."""

from __future__ import annotations

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mutant import caught_by

IN_ORDER = "steps.a-chunk-is-taken-step-by-step[unary]"
GOES_ON = "steps.a-chunk-goes-on-in-another-request[unary]"
FAILS = "steps.a-chunk-ends-where-a-step-fails[unary]"


class Chunks(Behaviour):
    """Changes chunks, and the answers to them."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if not (request.HasField("step") and request.step.actions):
            return upstream.forward(request)
        self.ask(request.step)
        response = upstream.forward(request)
        self.answer(response)
        return response

    def ask(self, chunk: pb.StepRequest) -> None:
        """Changes a chunk."""

    def answer(self, response: pb.InteractResponse) -> None:
        """Changes the answer to one."""


@caught_by(IN_ORDER)
class StepsOfAChunkAreTakenInAnotherOrder(Chunks):
    def ask(self, chunk: pb.StepRequest) -> None:
        actions = list(chunk.actions)
        del chunk.actions[:]
        chunk.actions.extend(actions[1:] + actions[:1])


@caught_by(IN_ORDER)
class AnAnswerHasLessStepsThanWereTaken(Chunks):
    def answer(self, response: pb.InteractResponse) -> None:
        del response.step.steps[1:]


@caught_by(GOES_ON, IN_ORDER)
class AnAnswerHasNoStep(Chunks):
    def answer(self, response: pb.InteractResponse) -> None:
        del response.step.steps[:]


@caught_by("steps.a-chunk-ends-with-its-episode[unary]")
class AChunkGoesOnBehindItsEpisode(Chunks):
    def answer(self, response: pb.InteractResponse) -> None:
        steps = response.step.steps
        if steps and (steps[-1].terminated or steps[-1].truncated):
            steps.extend([steps[-1]] * 8)


@caught_by(FAILS)
class TheErrorOfTheFirstActionIsThatOfAChunk(Chunks):
    def answer(self, response: pb.InteractResponse) -> None:
        if response.HasField("error"):
            error = response.error
            response.CopyFrom(pb.InteractResponse(step=pb.StepResponse(error=error)))


@caught_by(FAILS)
class AChunkDoesNotSayWhyItEnds(Chunks):
    def answer(self, response: pb.InteractResponse) -> None:
        if response.HasField("step"):
            response.step.ClearField("error")


@caught_by("steps.a-chunk-stands-alone[unary]")
class LongChunksAreCut(Chunks):
    def ask(self, chunk: pb.StepRequest) -> None:
        del chunk.actions[1024:]
