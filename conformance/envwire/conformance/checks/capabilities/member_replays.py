"""Replay to vector environments whose members begin at different positions."""

from __future__ import annotations

from collections.abc import Sequence

from envwire.codec import Reason
from envwire.conformance.checks.capabilities.replays import answer_digest, recorded
from envwire.conformance.checks.capabilities.vectors import actions, draws, vector
from envwire.conformance.outcomes import SkippedError, expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import array, int64s, integer, look_up
from envwire.conformance.suite import CheckContext, check
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from envwire.v1.spaces_pb2 import RandomState
from envwire.v1.values_pb2 import ValueMap

#: A position after the end of these checks' recordings.
_LATER = 100


def _pair(context: CheckContext) -> Session:
    """Makes a vector of two Counters, which start new episodes only when reset."""
    if "vector" not in context.info.capabilities:
        raise SkippedError("the server makes no vector environments")
    return vector(context, 2, "DISABLED")


def _only(*reset: bool) -> ValueMap:
    """Returns the option that selects the members to reset."""
    mask = array(values_pb2.DATA_TYPE_BOOL, [len(reset)], bytes(reset))
    return ValueMap(entries=[values_pb2.ValueEntry(name="reset_mask", value=mask)])


def _recording(session: Session) -> list[bytes]:
    """Returns a recording: both members are reset and step, then member 1 is reset, and both step."""
    return [
        recorded(session, "reset", seed=integer(5)),
        recorded(session, "step", action=actions(1, 1)),
        recorded(session, "reset", options=_only(False, True)),
        recorded(session, "step", action=actions(0, 1)),
    ]


def _replay(
    session: Session,
    requests: Sequence[bytes],
    *starts: pb.MemberStart,
    unseen: Sequence[int] = (),
) -> pb.ReplayResponse:
    answer = session.ask("replay", requests=requests, member_starts=starts, unseen=unseen)
    replayed: pb.ReplayResponse = answer.of("replay")
    expect_equal(replayed.served, len(requests), "the number of requests served")
    return replayed


def _state_after(context: CheckContext, seed: int) -> tuple[RandomState, float]:
    """Returns a generator's state after a reset with a seed, and what the second reset after that draws."""
    session = context.make()
    state = session.reset(seed, mirror_np_random=True).random.np_random
    session.reset()
    return state, look_up(session.reset().info, "draw").float_value


@check("REPLAY-12", profile="replay")
def a_member_that_begins_later_is_left_out(context: CheckContext) -> None:
    """Before its position a member is neither stepped nor reset, while the others are."""
    session = _pair(context)
    session.reset(1)
    for _ in range(4):
        session.step(actions(1, 1))
    _replay(session, _recording(session), pb.MemberStart(member=1, position=_LATER))
    expect_equal(int64s(session.step(actions(0, 0)).observation), [3, 1, 5, 4], "steps and sums")


@check("REPLAY-12 REPLAY-13 REPLAY-17", profile="replay")
def a_member_begins_with_a_reset(context: CheckContext) -> None:
    """At its position a member's generator is set to the given state, and the member is reset."""
    _expect_a_member_begins(context, seed=77, position=2, then=[3, 1, 2, 1])


@check("REPLAY-13", profile="replay")
def a_member_begins_with_a_step(context: CheckContext) -> None:
    """A step at a member's position resets the member, as at the end of an episode."""
    _expect_a_member_begins(context, seed=78, position=3, then=[3, 1, 1, 0])


def _expect_a_member_begins(
    context: CheckContext, seed: int, position: int, then: list[int]
) -> None:
    """Checks where a member begins; `then` is what a step observes afterwards: steps and sums of both members."""
    state, later = _state_after(context, seed)
    session = _pair(context)
    session.reset(1)
    start = pb.MemberStart(member=1, position=position, np_random=state)
    _replay(session, _recording(session), start)
    expect_equal(int64s(session.step(actions(0, 0)).observation), then, "steps and sums")
    expect_equal(draws(session.reset(options=_only(False, True)))[1], later, "what it draws next")


@check("REPLAY-14", profile="replay")
def answers_without_a_member_are_passed_over(context: CheckContext) -> None:
    """If `unseen` names the answers in which a member was left out, the digest covers the others."""
    original = _pair(context)
    original.reset(5)
    original.step(actions(1, 1))
    original.reset(options=_only(False, True))
    seen = pb.InteractResponse(step=original.step(actions(0, 1)))
    session = _pair(context)
    session.reset(1)
    start = pb.MemberStart(member=1, position=2)
    found = _replay(session, _recording(session), start, unseen=(0, 1, 2)).digest
    wanted = answer_digest([seen.SerializeToString(deterministic=True)])
    expect_equal(found.hex(), wanted.hex(), "the digest")


@check("REPLAY-15", profile="replay")
def who_is_left_out_was_reset(context: CheckContext) -> None:
    """A member that was never reset cannot be left out."""
    session = _pair(context)
    start = pb.MemberStart(member=1, position=2)
    answer = session.ask("replay", requests=_recording(session), member_starts=[start])
    answer.refused(Reason.INVALID_VALUE)


@check("REPLAY-16", profile="replay")
def another_recording_is_everybodys(context: CheckContext) -> None:
    """In a recording that starts at position 0 without member starts, all members take part."""
    session = _pair(context)
    session.reset(1)
    _replay(session, _recording(session)[:2], pb.MemberStart(member=1, position=_LATER))
    _replay(session, _recording(session)[:2])
    observation = session.step(actions(0, 0)).observation
    expect_equal(int64s(observation), [2, 1, 2, 1], "steps and sums")
