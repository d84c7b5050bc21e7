"""How a direct channel ends, and what follows."""

from __future__ import annotations

import time

from google.protobuf.duration_pb2 import Duration

from envwire.codec import Reason
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw import Answer, Session
from envwire.conformance.raw.values import int64s, integer
from envwire.conformance.suite import CheckContext, check
from envwire.v1 import environment_pb2 as pb

_DIRECT = ("direct",)
#: Certainly longer than a lease of 0.3 s.
_LONGER = 1.5


def _refusal(context: CheckContext, session: Session) -> Answer:
    """Opens another channel, and returns the error that answers its hello."""
    answer = context.connect(session.made).hello(session.header)
    return Answer(pb.InteractResponse(error=answer.error))


@check("END-1 END-2", over=_DIRECT)
def another_channel_closes_the_first(context: CheckContext) -> None:
    """A session has one channel: opening another closes the first, and the episode goes on."""
    session = context.start()
    first = session.direct
    session.link = context.direct(session.made)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")
    expect(first.ended(5.0), "the end of the first channel")


@check("END-3 OPEN-7 METHOD-7", over=_DIRECT)
def unary_calls_may_be_mixed_with_it(context: CheckContext) -> None:
    """Steps alternate between the channel and unary calls."""
    session = context.start()
    direct = session.link
    for count in range(1, 7):
        session.link = direct if count % 2 else context.unary
        expect_equal(int64s(session.step(1).observation), [count, count], "steps and sum")


@check("END-6", over=_DIRECT)
def a_client_that_was_cut_off_goes_on(context: CheckContext) -> None:
    """After each of ten cuts the last request is sent again, and is served only once."""
    session = context.start(lease=Duration(seconds=30))
    for count in range(1, 9):
        step = session.request("step", action=integer(1))
        if context.random.random() < 0.5:
            session.direct.send(step)
        session.link.close()
        session.link = context.direct(session.made)
        observation = session.send(step).of("step").observation
        expect_equal(int64s(observation), [count, count], "steps and sum")
        session.number += 1


@check("END-11", over=_DIRECT)
def close_ends_the_channel(context: CheckContext) -> None:
    """The server answers Close, then closes the channel."""
    session = context.start()
    session.close().of("close")
    expect(session.direct.ended(5.0), "the end of the channel")


@check("END-9 STATE-11", over=_DIRECT)
def a_closed_session_gets_no_channel(context: CheckContext) -> None:
    """The hello of a closed session is answered with SESSION_CLOSED."""
    session = context.make()
    session.close().of("close")
    _refusal(context, session).refused(Reason.SESSION_CLOSED)


@check("END-12 END-13", over=_DIRECT)
def a_crash_ends_the_channel(context: CheckContext) -> None:
    """When the process dies, the channel ends, and the answer to another hello says why."""
    session = context.start("Crash")
    link = session.direct
    link.send(session.request("step", action=integer(1)))
    expect(link.ended(context.seconds), "the end of the channel, without an answer")
    _refusal(context, session).refused(Reason.SESSION_LOST)


@check("END-9 LEASE-5", over=_DIRECT)
def an_expired_session_gets_no_channel(context: CheckContext) -> None:
    """The hello of an expired session is answered with SESSION_EXPIRED."""
    session = context.make(lease=Duration(nanos=300_000_000))
    session.link.close()
    time.sleep(_LONGER)  # polling would not do: each accepted hello renews the lease
    _refusal(context, session).refused(Reason.SESSION_EXPIRED)


@check("BOUND-5", over=_DIRECT)
def no_token_is_asked_for(context: CheckContext) -> None:
    """A hello needs only the session's header, and no token."""
    context.make().reset(1)
