"""Servers that replay recordings incorrectly."""

from __future__ import annotations

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from tests.conformance.mutants.mutant import caught_by

_ALL = (
    "member_replays.a-member-begins-with-a-reset[unary]",
    "member_replays.a-member-begins-with-a-step[unary]",
)


class Amending(Behaviour):
    """Changes replays."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        if request.HasField("replay"):
            self.amend(request.replay)
        return upstream.forward(request)

    def amend(self, replay: pb.ReplayRequest) -> None:
        """Changes one."""
        raise NotImplementedError


@caught_by(
    *_ALL,
    "member_replays.a-member-that-begins-later-is-left-out[unary]",
    "member_replays.who-is-left-out-was-reset[unary]",
)
class NobodyIsLeftOut(Amending):
    def amend(self, replay: pb.ReplayRequest) -> None:
        del replay.member_starts[:]


@caught_by(*_ALL)
class GeneratorsOfMembersStay(Amending):
    def amend(self, replay: pb.ReplayRequest) -> None:
        for start in replay.member_starts:
            start.ClearField("np_random")


@caught_by("member_replays.another-recording-is-everybodys[unary]")
class BeginningsAreKept(Amending):
    def __init__(self) -> None:
        self._starts: list[pb.MemberStart] = []

    def amend(self, replay: pb.ReplayRequest) -> None:
        self._starts = list(replay.member_starts) or self._starts
        replay.MergeFrom(pb.ReplayRequest(member_starts=self._starts))


@caught_by(
    "member_replays.answers-without-a-member-are-passed-over[unary]",
    "replays.what-nobody-saw-is-passed-over[unary]",
)
class NothingIsPassedOver(Amending):
    def amend(self, replay: pb.ReplayRequest) -> None:
        del replay.unseen[:]


@caught_by("replays.steps-of-a-chunk-stand-by-themselves[unary]")
class ChunkTellsLess(Behaviour):
    """Leaves the rewards out of the steps of a chunk."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        for step in response.step.steps:
            step.ClearField("reward")
        return response
