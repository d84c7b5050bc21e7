"""Servers that tell the times of steps wrongly."""

from __future__ import annotations

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mutant import caught_by

TOLD = "times.steps-say-when-they-were-taken[unary]"


class Times(Behaviour):
    """Changes the time of each step."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if response.HasField("step") and response.step.HasField("time"):
            self.change(response.step.time)
        return response

    def change(self, time: pb.StepTime) -> None:
        """Changes it."""


@caught_by(TOLD)
class StepsEndBeforeTheyBegin(Times):
    def change(self, time: pb.StepTime) -> None:
        time.ended_nanoseconds = time.begun_nanoseconds - 1


@caught_by(TOLD)
class EachStepHasAClockOfItsOwn(Times):
    def change(self, time: pb.StepTime) -> None:
        time.ended_nanoseconds -= time.begun_nanoseconds
        time.begun_nanoseconds = 0


@caught_by(TOLD)
class TimesAreToldUnasked(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("step"):
            request.step.report_time = True
        return upstream.forward(request)
