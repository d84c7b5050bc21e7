"""Correct servers: episodes, values and errors arrive unchanged."""

from __future__ import annotations

import math

from envwire.conformance.checks.core.values import KINDS
from envwire.conformance.client.driver import to_protojson
from envwire.conformance.client.scenario import ScenarioContext, scenario
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw.values import (
    counted,
    dictionary,
    entries,
    integer,
    look_up,
    parsed,
    text,
)
from envwire.v1.values_pb2 import Value


@scenario("SEQUENCE-3 DRIVE-4", None)
def an_episode_is_driven(context: ScenarioContext) -> None:
    """Each step is taken once; the tenth terminates the episode, and a reset starts the next."""
    context.make()
    for _ in range(2):
        context.reset(1)
        context.counts([1, 0, 1, 1, 0, 1, 0, 0, 1])
        expect(context.step(1)["terminated"], "the tenth step to terminate")
    context.close()


@scenario("DRIVE-1 DRIVE-2", None)
def a_seed_is_sent(context: ScenarioContext) -> None:
    """A reset with a seed draws that seed's first number, a reset without one the next number."""
    context.make()
    draws = [look_up(context.reset(seed).dict, "draw").float_value for seed in (1, None, 1)]
    expect_equal(draws[0], 0.5118216247002567, "the draw of seed 1")
    expect(draws[1] != draws[0], "another draw without a seed")
    expect_equal(draws[2], draws[0], "the draw of the same seed")
    context.close()


@scenario("DRIVE-3", None)
def options_are_sent(context: ScenarioContext) -> None:
    """The options arrive in order; the environment returns them as the info."""
    context.make("Echo")
    options = entries(zebra=integer(1), apple=text("two"))
    expect_equal(context.reset(options=options).dict, options, "the info")
    context.close()


@scenario("VALUE-1 VALUE-2 VALUE-3", None, cases=KINDS)
def a_value_goes_there_and_back(context: ScenarioContext, source: str) -> None:
    """A value stays the same when the driver reads, sends, receives and writes it."""
    context.make("Echo")
    context.reset()
    sent = parsed(source)
    expect_equal(context.observed(sent), sent, "the observation")
    context.close()


@scenario("DRIVE-5", None)
def a_reward_may_be_of_another_type(context: ScenarioContext) -> None:
    """A reward of None arrives, and is no failure."""
    context.make("Echo")
    context.reset()
    answer = context.step(dictionary(echo=integer(0), reward=parsed("none { }")))
    reward = answer.get("reward")
    expect(reward in (None, "NaN") or (isinstance(reward, float) and math.isnan(reward)), "NaN")
    context.close()


@scenario("ERROR-4 ERROR-9", None)
def an_exception_is_reported(context: ScenarioContext) -> None:
    """The driver reports an exception of the environment as an error, and the session goes on."""
    context.make("Raise")
    context.reset()
    reason = context.fails("step", action=to_protojson(text("ValueError")))
    context.expect_reason(reason, "ENVIRONMENT_RAISED")
    context.step(text("nothing"))
    context.close()


@scenario("LIMIT-3 FRAME-10", None)
def ten_megabytes_arrive(context: ScenarioContext) -> None:
    """A large array arrives whole, attached or not."""
    context.make("Big")
    context.reset()
    found = context.observed(integer(10_000_000)).array
    expect_equal(list(found.shape), [10_000_000], "the shape")
    expect(found.data == counted(10_000_000), "the elements")
    context.close()


@scenario("FRAME-5 FRAME-6", None)
def several_arrays_arrive(context: ScenarioContext) -> None:
    """Several arrays in one answer are not mixed up."""
    context.make("Big")
    context.reset()
    sizes = (5000, 3, 4096, 70_000)
    action = Value()
    action.list.values.extend(map(integer, sizes))
    found = context.observed(action).tuple.values
    for size, value in zip(sizes, found, strict=True):
        expect(value.array.data == counted(size), f"the {size} elements")
    context.close()
