"""Request numbers: exactly once."""

from __future__ import annotations

import time

from envwire.codec import Reason
from envwire.conformance.outcomes import expect_equal
from envwire.conformance.raw import DirectLink, Session, StreamLink
from envwire.conformance.raw.values import UNKNOWN_FIELD, int64s, integer
from envwire.conformance.suite import CheckContext, Level, cases, check
from envwire.conformance.suite.checks import ALL
from envwire.v1.environment_pb2 import InteractRequest
from envwire.v1.values_pb2 import Value

#: Seconds in which a server usually has begun a request; the checks hold even if it has not.
_BEGUN_SECONDS = 0.1


def _send_only(session: Session, request: InteractRequest) -> None:
    """Sends a request, and gives the server time to begin it."""
    if isinstance(session.link, DirectLink):
        session.link.send(request)
    elif isinstance(session.link, StreamLink):
        shown = InteractRequest.FromString(request.SerializeToString())
        shown.step.header.CopyFrom(session.header)
        session.link.send(shown.SerializeToString())
    time.sleep(_BEGUN_SECONDS)


@check("SEQUENCE-3 SEQUENCE-5", over=ALL)
def requests_are_numbered_from_one(context: CheckContext) -> None:
    """Another first number is answered with SEQUENCE_GAP; number 1 is then served."""
    session = context.make()
    for number in (2, 0, 17):
        info = session.peek("reset", number).refused(Reason.SEQUENCE_GAP)
        expect_equal(info.metadata["expected"], "1", 'metadata["expected"]')
    session.reset(1)


@cases(
    {"two-ahead": 2, "far-ahead": 2**40, "last": 2**64 - 1 - 1}, "SEQUENCE-5 SEQUENCE-8", over=ALL
)
def a_gap_is_refused(context: CheckContext, ahead: int) -> None:
    """A number ahead of the next is answered with SEQUENCE_GAP and the expected number, and is not used."""
    session = context.start()
    info = session.peek("step", session.number + ahead, action=integer(1)).refused(
        Reason.SEQUENCE_GAP
    )
    expect_equal(info.metadata["expected"], "2", 'metadata["expected"]')
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the next step")


@check("SEQUENCE-5", over=ALL)
def an_earlier_number_is_refused(context: CheckContext) -> None:
    """A number before the last is answered with SEQUENCE_GAP."""
    session = context.start()
    session.step(1)
    session.peek("reset", 1, seed=integer(1)).refused(Reason.SEQUENCE_GAP)
    expect_equal(int64s(session.step(1).observation), [2, 2], "the observation of the next step")


@check("SEQUENCE-4 SEQUENCE-5 SEQUENCE-9", over=ALL)
def a_repeated_step_is_taken_once(context: CheckContext) -> None:
    """The same number with the same bytes gets the kept answer, and the step is not taken again."""
    session = context.start()
    step = session.request("step", action=integer(1))
    first = session.send(step).of("step")
    for _ in range(3):
        expect_equal(session.send(step).of("step"), first, "the repeated answer")
    session.number += 1
    expect_equal(int64s(session.step(1).observation), [2, 2], "the observation of the next step")


@check("SEQUENCE-4 SEQUENCE-5", over=ALL)
def a_repeated_reset_is_done_once(context: CheckContext) -> None:
    """A repeated reset without a seed gets the same answer, and draws no further numbers."""
    session = context.start()
    reset = session.request("reset")
    first = session.send(reset).of("reset")
    expect_equal(session.send(reset).of("reset"), first, "the repeated answer")


@check("SEQUENCE-5 SEQUENCE-8", over=ALL)
def a_number_is_not_used_for_another_request(context: CheckContext) -> None:
    """The last number with other content is answered with SEQUENCE_REUSED, and does nothing."""
    session = context.start()
    session.step(1)
    session.peek("step", 2, action=integer(0)).refused(Reason.SEQUENCE_REUSED)
    session.peek("reset", 2, seed=integer(1)).refused(Reason.SEQUENCE_REUSED)
    expect_equal(int64s(session.step(1).observation), [2, 2], "the observation of the next step")


@check("SEQUENCE-6", level=Level.RECOMMENDED)
def same_means_the_same_bytes(context: CheckContext) -> None:
    """The same request with an additional byte counts as a different request."""
    session = context.start()
    step = session.request("step", action=integer(1))
    session.send(step).of("step")
    step.step.header.CopyFrom(session.header)
    other = step.step.SerializeToString() + UNKNOWN_FIELD
    context.unary.exchange_bytes("step", other, context.seconds).refused(Reason.SEQUENCE_REUSED)


@check("SEQUENCE-7", over=ALL)
def a_failed_request_uses_its_number(context: CheckContext) -> None:
    """An exception of the environment uses the number and is kept like any answer."""
    session = context.start()
    step = session.request("step", action=integer(7))
    first = session.send(step)
    first.refused(Reason.INVALID_ACTION)
    again = session.send(step)
    again.refused(Reason.INVALID_ACTION)
    expect_equal(again.response.error.message, first.response.error.message, "the repeated text")
    session.peek("step", 2, action=integer(1)).refused(Reason.SEQUENCE_REUSED)
    session.number += 1
    session.step(1)


@check("SEQUENCE-7", over=ALL)
def a_refused_value_uses_its_number(context: CheckContext) -> None:
    """A request refused with INVALID_VALUE uses its number."""
    session = context.start()
    session.ask("step", action=Value()).refused(Reason.INVALID_VALUE)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the next step")


@check("METHOD-7 OPEN-8 SEQUENCE-2", over=("stream", "direct"))
def a_request_may_be_repeated_as_a_unary_call(context: CheckContext) -> None:
    """The kept answer is also returned over another link, if the request has its header."""
    session = context.start()
    step = session.request("step", action=integer(1))
    first = session.send(step).of("step")
    expect_equal(session.send(step, context.unary).of("step"), first, "the repeated answer")
    session.number += 1
    expect_equal(int64s(session.step(1).observation), [2, 2], "the observation of the next step")


@check("METHOD-7 OPEN-8 SEQUENCE-2", over=("stream", "direct"))
def a_unary_request_may_be_repeated_here(context: CheckContext) -> None:
    """A request sent as a unary call can be repeated on the session's own link."""
    session = context.start()
    step = session.request("step", action=integer(1))
    first = session.send(step, context.unary).of("step")
    expect_equal(session.send(step).of("step"), first, "the repeated answer")


@check("SEQUENCE-10")
def a_repetition_waits_for_the_answer(context: CheckContext) -> None:
    """A step sent twice at once is taken once, and answered twice."""
    session = context.start("Slow")
    step = session.request("step", action=Value(float_value=0.5), header=session.header)
    futures = [context.unary.begin(step, context.seconds) for _ in range(2)]
    counts = [context.unary.await_answer("step", one).of("step").observation for one in futures]
    expect_equal(counts, [integer(1)] * 2, "the number of steps, in both answers")
    session.number += 1
    expect_equal(session.step(Value(float_value=0.0)).observation, integer(2), "the next")


@check("SEQUENCE-9 END-6", over=("stream", "direct"))
def a_step_that_was_cut_off_is_taken_once(context: CheckContext) -> None:
    """If a channel ends while a step is served, another channel gets the answer."""
    session = context.start("Slow")
    step = session.request("step", action=Value(float_value=0.4))
    _send_only(session, step)
    session.link.close()
    session.link = context.link_to(session.made)
    expect_equal(session.send(step).of("step").observation, integer(1), "the number of steps")
    session.number += 1
    expect_equal(session.step(Value(float_value=0.0)).observation, integer(2), "the next")


@check("SEQUENCE-11 SEQUENCE-9")
def a_storm_of_repetitions_is_one_step(context: CheckContext) -> None:
    """Steps sent twice and out of order are taken once each; those that arrive early are refused."""
    session = context.start()
    for count in range(1, 9):
        step = session.request("step", action=integer(1))
        early = session.peek("step", session.number + 2, action=integer(1))
        early.refused(Reason.SEQUENCE_GAP)
        for _ in range(context.random.randint(1, 3)):
            observation = session.send(step).of("step").observation
            expect_equal(int64s(observation), [count, count], "steps and sum")
        session.number += 1
