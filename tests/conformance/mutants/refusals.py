"""Servers that refuse with wrong errors, or make something that was not requested."""

from __future__ import annotations

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from tests.conformance.mutants.mutant import caught_by

_MANY_BYTES = 2**20


@caught_by("errors.an-error-is-googles[unary]")
class DetailsHaveNamesOfTheirOwn(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        for detail in response.error.details:
            detail.type_url = detail.type_url.replace("google.rpc", "envwire.v1")
        return response


@caught_by("errors.a-large-make-is-served-or-too-large[unary]")
class LargeRequestsFail(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.ByteSize() > _MANY_BYTES:
            return pb.InteractResponse(error=status_pb2.ErrorStatus(code=13, message="too much"))
        return upstream.forward(request)


@caught_by("makes.an-id-of-several-libraries-is-envwires[unary]")
class GymnasiumIsPreferred(Behaviour):
    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.make.env_id == "CartPole-v1" and not request.make.library:
            request.make.library = "gymnasium"
        return upstream.forward(request)
