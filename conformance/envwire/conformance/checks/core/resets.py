"""Reset: seeds, options, and a new episode."""

from __future__ import annotations

import struct

from envwire.codec import Reason
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import entries, int64s, integer, look_up, parsed, text
from envwire.conformance.suite import CheckContext, Level, cases, check
from envwire.conformance.suite.checks import ALL
from envwire.v1.values_pb2 import Value


def _draw(session: Session, seed: Value | None = None) -> float:
    return look_up(session.ask("reset", seed=seed).of("reset").info, "draw").float_value


@check("DRIVE-1", over=ALL)
def a_seed_decides_the_episode(context: CheckContext) -> None:
    """The same seed starts the same episode, another seed a different one."""
    session = context.make()
    one, again, other = (_draw(session, seed=integer(seed)) for seed in (7, 7, 8))
    expect_equal(again, one, "the draw after the same seed")
    expect(other != one, "another draw after another seed")


@check("DRIVE-2")
def without_a_seed_the_generator_goes_on(context: CheckContext) -> None:
    """A reset without a seed keeps the generator and its state."""
    first, second = context.make(), context.make()
    drawn = [_draw(first, seed=integer(7)), _draw(first)]
    expect(drawn[0] != drawn[1], "another draw")
    expect_equal(
        [_draw(second, seed=integer(7)), _draw(second)], drawn, "the other session's draws"
    )


@check("DRIVE-1", level=Level.RECOMMENDED)
def the_generator_is_numpys(context: CheckContext) -> None:
    """The first draw after seed 1 is that of numpy.random.default_rng(1)."""
    expect_equal(_draw(context.make(), seed=integer(1)), 0.5118216247002567, "the draw")


@check("DRIVE-1")
def a_seed_may_be_of_any_size(context: CheckContext) -> None:
    """A seed of more than 64 bits is accepted."""
    seed = Value(big_int_value=(2**100).to_bytes(13, "little", signed=True))
    session = context.make()
    expect_equal(
        _draw(session, seed=seed), _draw(session, seed=seed), "the draw after the same seed"
    )


@cases({"negative": integer(-1), "text": text("seven"), "float": Value(float_value=0.5)}, "DRIVE-1")
def other_seeds_are_refused(context: CheckContext, seed: Value) -> None:
    """An invalid seed is refused, and the session goes on."""
    session = context.make()
    refusal = session.ask("reset", seed=seed)
    refusal.refused(Reason.ENVIRONMENT_RAISED, Reason.INVALID_VALUE)
    session.reset(1)


@check("DRIVE-3", over=ALL)
def options_reach_the_environment(context: CheckContext) -> None:
    """Options arrive unchanged and in order, and so does their absence."""
    session = context.make("Echo")
    options = entries(zebra=integer(1), apple=text("two"), none=parsed("none { }"))
    expect_equal(session.reset(options=options).info, options, "the info, which is the options")
    expect_equal(len(session.reset().info.entries), 0, "entries of the info without options")


@check("DRIVE-27", over=ALL)
def spaces_that_do_not_change_are_not_sent_again(context: CheckContext) -> None:
    """A reset of Counter, which keeps its spaces, sends none."""
    answer = context.make().reset(1)
    changed = answer.HasField("observation_space") or answer.HasField("action_space")
    expect_equal(changed, False, "whether the answer has spaces")


@check("STATE-3", over=ALL)
def a_reset_begins_anew(context: CheckContext) -> None:
    """A reset in the middle of an episode starts a new one."""
    session = context.start()
    session.step(1)
    expect_equal(int64s(session.reset(1).observation), [0, 0], "the observation of a reset")
    expect_equal(int64s(session.step(1).observation), [1, 1], "that of the first step")


@check("VALUE-19 VALUE-20")
def the_observation_is_the_environments(context: CheckContext) -> None:
    """A reset of Counter answers with an INT64 array of shape (2,), in C order, little-endian."""
    observation = context.make().reset(1).observation
    expect_equal(list(observation.array.shape), [2], "the shape")
    expect_equal(observation.array.data, struct.pack("<2q", 0, 0), "the data")
