"""Close, and the answers of ended sessions."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw.values import entries, integer, text
from envwire.conformance.suite import CheckContext, cases, check
from envwire.conformance.suite.checks import ALL
from envwire.v1 import environment_pb2 as pb


@check("STATE-9 STATE-3", over=ALL)
def close_ends_a_session(context: CheckContext) -> None:
    """Close succeeds, and later requests are answered with SESSION_CLOSED."""
    session = context.start()
    session.close().of("close")
    session.link.close()
    session.link = context.unary
    session.ask("step", action=integer(1)).refused(Reason.SESSION_CLOSED)
    session.ask("reset").refused(Reason.SESSION_CLOSED)


@check("STATE-10")
def closing_twice_is_harmless(context: CheckContext) -> None:
    """Closing a closed session succeeds, with any number."""
    session = context.make()
    session.close().of("close")
    session.close().of("close")
    session.peek("close", 99).of("close")


@check("STATE-9")
def close_ends_a_session_despite_a_gap(context: CheckContext) -> None:
    """Close with a wrong number ends the session, whatever its answer."""
    session = context.start()
    session.peek("close", 99)
    session.ask("step", action=integer(1)).refused(Reason.SESSION_CLOSED)


@check("STATE-9")
def close_ends_a_session_that_raises(context: CheckContext) -> None:
    """If the environment's close raises, the exception is the answer, and the session has ended."""
    session = context.make("Raise")
    session.reset(options=entries(raise_in_close=text("ValueError")))
    answer = session.close()
    expect(answer.kind in {"close", "error"}, "an answer")
    session.ask("reset").refused(Reason.SESSION_CLOSED)


@check("STATE-1", over=("stream",))
def the_end_of_a_session_is_known_on_every_link(context: CheckContext) -> None:
    """A stream that used a session answers SESSION_CLOSED after a unary call closed it."""
    session = context.start()
    elsewhere = context.attach(session.made, context.unary)
    elsewhere.number = session.number
    elsewhere.close().of("close")
    session.ask("reset").refused(Reason.SESSION_CLOSED)


@check("STATE-3", over=ALL)
def a_session_may_be_closed_at_once(context: CheckContext) -> None:
    """Close succeeds before the first reset."""
    context.make().close().of("close")


@check("LIMIT-4", profile="info")
def close_frees_the_slot(context: CheckContext) -> None:
    """A closed session no longer counts."""
    session = context.make()
    before = context.ask("get_server_info").of("get_server_info").active_sessions
    session.close().of("close")
    context.eventually(
        lambda: context.ask("get_server_info").of("get_server_info").active_sessions < before,
        f"fewer than {before} sessions",
    )


_LATER = {"reset": "reset", "step": "step", "render": "render", "renew_lease": "renew_lease"}


@cases(_LATER, "STATE-11 STATE-2", over=("unary", "stream"))
def an_ended_session_tells_its_reason(context: CheckContext, kind: str) -> None:
    """Any request except Close is answered with the reason of the end."""
    session = context.start()
    session.close().of("close")
    session.ask(kind).refused(Reason.SESSION_CLOSED)


@check("SESSION-29")
def closing_an_unknown_session_closes_nothing(context: CheckContext) -> None:
    """Close of an unknown id is answered with UNKNOWN_SESSION or succeeds; other sessions live on."""
    neighbour = context.make()
    header = pb.SessionHeader(session_id="0" * 32, secret=neighbour.made.secret)
    request = pb.InteractRequest(close=pb.CloseRequest(header=header, sequence=1))
    answer = context.unary.exchange(request, context.seconds)
    expect(answer.kind == "close" or answer.info.reason == Reason.UNKNOWN_SESSION.name, "either")
    neighbour.reset(1)


@check("METHOD-1")
def a_session_tells_its_time(context: CheckContext) -> None:
    """GetSessionStats counts the requests served; it may lag behind."""
    session = context.start()
    for _ in range(3):
        session.step(0)
    answer = session.send(session.request("get_session_stats"))
    if answer.info.reason != Reason.UNSUPPORTED.name:
        expect(answer.of("get_session_stats").requests <= 4, "at most 4 requests")
        expect_equal(session.step(0).reward, 0.0, "the reward of a step after it")
