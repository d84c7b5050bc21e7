"""Servers whose connections break: no request is lost, and none is served twice."""

from __future__ import annotations

from envwire.conformance.client.behaviours import (
    Busy,
    Counting,
    Duplicating,
    LateAnswers,
    Outage,
    cutting,
)
from envwire.conformance.client.scenario import ScenarioContext, scenario
from envwire.conformance.outcomes import expect, expect_equal

_ACTIONS = (1, 0, 1, 1, 0, 1)


def _played(context: ScenarioContext) -> None:
    context.make(lease=20)
    context.reset(1)
    context.counts(_ACTIONS)
    context.close()


@scenario("SEQUENCE-9 END-6", cutting("step", 3, after=False))
def a_step_that_did_not_arrive_is_repeated(context: ScenarioContext) -> None:
    """The connection is cut before the third step is served; the client sends the step again."""
    _played(context)


@scenario("SEQUENCE-9 END-6", cutting("step", 3, after=True))
def a_step_whose_answer_was_lost_is_repeated(context: ScenarioContext) -> None:
    """The connection is cut after the third step; the client repeats the step and gets the kept answer."""
    _played(context)


@scenario("SEQUENCE-9", cutting("step", 3, 4, 5, after=True))
def an_answer_may_be_lost_again(context: ScenarioContext) -> None:
    """The answer of one step is lost three times."""
    _played(context)


@scenario("SEQUENCE-9", cutting("step", *range(1, 40, 2), after=True))
def every_second_answer_is_lost(context: ScenarioContext) -> None:
    """Every second answer is lost; the client repeats those requests."""
    _played(context)


@scenario("SEQUENCE-9", cutting("step", *range(2, 40, 2), after=False))
def every_second_request_is_lost(context: ScenarioContext) -> None:
    """Every second request is lost before it is served; the client repeats it."""
    _played(context)


@scenario("SEQUENCE-9", cutting("reset", 1, after=False))
def a_reset_that_did_not_arrive_is_repeated(context: ScenarioContext) -> None:
    """The first reset is lost before it is served; the client sends it again."""
    _played(context)


@scenario("SEQUENCE-9", cutting("reset", 1, 3, after=True))
def a_reset_is_done_once(context: ScenarioContext) -> None:
    """A reset without a seed whose answer is lost draws only once."""
    context.make(lease=20)
    context.reset(1)
    context.reset()
    context.counts(_ACTIONS)
    context.close()


@scenario("STATE-10 STATE-9", cutting("close", 1, after=True))
def a_close_whose_answer_was_lost_is_no_failure(context: ScenarioContext) -> None:
    """Closing succeeds although its answer is lost."""
    _played(context)


@scenario("SESSION-32 SESSION-31", cutting("make", 1, after=True), over=("unary", "stream"))
def a_make_whose_answer_was_lost_is_repeated(context: ScenarioContext) -> None:
    """The client repeats the Make with the same request_id, which makes no second session."""
    _played(context)
    behaviour = context.behaviour
    assert isinstance(behaviour, Counting)  # noqa: S101 - for the type checker
    expect_equal(len(behaviour.sessions), 1, "the number of sessions")


@scenario("SEQUENCE-4", Duplicating)
def duplicates_do_no_harm(context: ScenarioContext) -> None:
    """Every step reaches the server twice, and is taken once."""
    _played(context)


@scenario("END-10 SEQUENCE-11", LateAnswers)
def late_answers_are_waited_for(context: ScenarioContext) -> None:
    """An answer that takes 0.7 s is matched to its own request."""
    _played(context)


@scenario("END-7 END-6", Outage)
def a_client_tries_for_as_long_as_its_lease(context: ScenarioContext) -> None:
    """The server is unreachable for two thirds of the lease; then the client goes on."""
    behaviour = context.behaviour
    assert isinstance(behaviour, Outage)  # noqa: S101 - for the type checker
    context.make(lease=9)
    context.reset(1)
    context.counts([1])
    behaviour.begin(6.0)
    context.counts([1, 0], start=(1, 1))
    context.close()


@scenario("END-8", Busy, over=("direct",))
def a_hello_without_an_answer_is_said_again(context: ScenarioContext) -> None:
    """A hello is not answered while the session is busy; the client opens another channel."""
    _played(context)
    behaviour = context.behaviour
    assert isinstance(behaviour, Busy)  # noqa: S101 - for the type checker
    expect(behaviour.given_up, "another hello while the first was not answered")
