"""Servers that treat the `Odd` environments like any other."""

from __future__ import annotations

import time

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from tests.conformance.mutants.mutant import ERROR_INFO, caught_by, reason


@caught_by(
    "spaces.a-space-of-another-class-makes-make-fail[unary]",
    "forks.what-has-more-than-a-state-is-not-copied/thread[unary]",
    "forks.what-has-more-than-a-state-is-not-copied/process[unary]",
)
class WhatCannotBeMadeIsAnother(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if request.HasField("make") and reason(response) == "UNSUPPORTED":
            make = pb.MakeRequest(env_id="Conformance/Counter-v0")
            return upstream.forward(pb.InteractRequest(make=make))
        return response


@caught_by(
    "values.a-subclass-travels-as-what-it-extends[unary]",
    "values.a-subclass-travels-as-what-it-extends[stream]",
    "values.a-subclass-travels-as-what-it-extends[direct]",
)
class SubclassesAreLists(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        observation = response.reset.observation
        if observation.HasField("tuple"):
            observation.list.CopyFrom(observation.tuple)
        return response


@caught_by("makes.a-wrapper-may-have-noted-nothing[unary]")
class EveryWrapperIsRecorded(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        for wrapper in response.make.spec.additional_wrappers:
            wrapper.recorded = True
        return response


@caught_by("leases.a-make-has-a-limit-of-its-own[unary]")
class MakesHaveTheTimeOfAStep(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        begun = time.monotonic()
        response = upstream.forward(request)
        made = response.make
        if not made.session_id or time.monotonic() - begun < made.step_timeout.ToSeconds():
            return response
        late = pb.InteractResponse(error=status_pb2.ErrorStatus(code=4, message="too late"))
        info = status_pb2.ErrorInfo(reason="STEP_TIMEOUT", domain="envwire")
        late.error.details.add(type_url=ERROR_INFO, value=info.SerializeToString())
        return late


@caught_by("vector_members.an-own-form-has-attributes-once[unary]")
class OwnFormsAreMembers(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        value = response.get_attribute.value
        if value.HasField("int_value"):
            value.tuple.values.add(int_value=value.int_value)
        return response


@caught_by("vector_members.an-own-form-tells-no-resets[unary]")
class EveryResetIsTold(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        if response.HasField("reset"):
            response.reset.member_resets.add(member=0)
        return response
