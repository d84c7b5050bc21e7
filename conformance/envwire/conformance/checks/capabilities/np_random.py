"""Mirroring the environment's random number generator."""

from __future__ import annotations

from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import integer, look_up
from envwire.conformance.suite import CheckContext, check
from envwire.v1 import environment_pb2 as pb


def _generator(session: Session, name: str = "np_random") -> pb.RandomMirror:
    answer = session.ask("get_attribute", name=name)
    if answer.kind == "error":
        raise SkippedError(f"the environment shares no generator: {answer.info.reason}")
    mirror: pb.RandomMirror = answer.of("get_attribute").random
    return mirror


def _draw(answer: pb.ResetResponse) -> float:
    return look_up(answer.info, "draw").float_value


@check("DRIVE-21 DRIVE-22 VALUE-25", profile="attributes")
def a_generator_is_read(context: CheckContext) -> None:
    """GetAttribute("np_random") answers with its state and its seed."""
    session = context.start(seed=7)
    mirror = _generator(session)
    expect_equal(mirror.np_random.bit_generator, "PCG64", "the bit generator")
    expect_equal(mirror.np_random_seed, integer(7), "the seed")


@check("DRIVE-23", over=("unary", "direct"), profile="attributes")
def a_generator_is_mirrored(context: CheckContext) -> None:
    """The answer has the generator's state with mirror_np_random, and only then."""
    session = context.start(seed=7)
    before = _generator(session).np_random
    answer = session.step(1, mirror_np_random=True)
    expect_equal(answer.random.np_random, before, "the state, as a step draws nothing")
    drawn = session.reset(mirror_np_random=True)
    expect(drawn.random.np_random != before, "another state after a draw")
    expect(not session.step(1).HasField("random"), "no state without being asked")


@check("DRIVE-23", over=("unary", "direct"), profile="attributes")
def a_generator_is_given(context: CheckContext) -> None:
    """A state in a request is set on the generator before the request is served."""
    session = context.start(seed=7)
    state = _generator(session).np_random
    first = _draw(session.reset())
    expect(_draw(session.reset()) != first, "another draw")
    expect_equal(_draw(session.reset(np_random=state)), first, "the draw after the earlier state")


@check("DRIVE-24", profile="attributes")
def a_generator_is_made_when_it_is_asked_for(context: CheckContext) -> None:
    """Reading "np_random" creates a missing generator; reading "_np_random" does not."""
    session = context.make()
    expect(not _generator(session, "_np_random").HasField("np_random"), "no state yet")
    expect(_generator(session).HasField("np_random"), "a state")
