"""Copies of a session."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import Answer, Session
from envwire.conformance.raw.values import entries, int64s, integer, look_up, text
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1 import environment_pb2 as pb


def _ask_copy(context: CheckContext, header: pb.SessionHeader) -> Answer:
    request = pb.InteractRequest(make=pb.MakeRequest(copy_of=header))
    return context.unary.exchange(request, 60.0)


def _copied(context: CheckContext, session: Session) -> Session:
    if "fork" not in session.made.capabilities:
        raise SkippedError("the session does not name fork among its capabilities")
    answer = _ask_copy(context, session.header)
    if answer.info.reason == Reason.UNSUPPORTED.name:
        raise SkippedError(f"it cannot be forked: {answer.response.error.message}")
    made = context.made(answer)
    return context.attach(made, context.unary)


@check("SESSION-14", profile="fork")
def a_copy_is_where_the_original_is(context: CheckContext) -> None:
    """A copy goes on from the original's state, independently and with its own sequence numbers."""
    session = context.start()
    session.step(1)
    copy = _copied(context, session)
    expect(copy.made.session_id != session.made.session_id, "another id")
    expect(copy.made.secret != session.made.secret, "another secret")
    expect_equal(int64s(copy.step(1).observation), [2, 2], "steps and sum of the copy")
    expect_equal(int64s(session.step(0).observation), [2, 1], "those of the original")


@check("SESSION-14", profile="fork")
def a_copy_has_the_generator(context: CheckContext) -> None:
    """Original and copy draw the same random numbers."""
    session = context.start()
    copy = _copied(context, session)
    drawn = [look_up(one.reset().info, "draw") for one in (session, copy)]
    expect_equal(drawn[1], drawn[0], "the draw")


@check("SAVE-5", profile="fork")
def a_copy_keeps_saved_states(context: CheckContext) -> None:
    """States that the original saved can be restored in the copy."""
    session = context.start()
    if session.ask("save_state").kind == "error":
        raise SkippedError("the environment saves no states")
    session.step(1)
    copy = _copied(context, session)
    copy.ask("restore_state", state=1).of("restore_state")
    expect_equal(int64s(copy.step(0).observation), [1, 0], "steps and sum")


@check("SESSION-14 SESSION-20", profile="fork")
def a_copy_needs_the_secret(context: CheckContext) -> None:
    """Copying a session needs its secret."""
    session = context.make()
    wrong = pb.SessionHeader(session_id=session.made.session_id, secret=bytes(16))
    _ask_copy(context, wrong).refused(Reason.WRONG_SECRET)
    unknown = pb.SessionHeader(session_id="0" * 32, secret=bytes(16))
    _ask_copy(context, unknown).refused(Reason.UNKNOWN_SESSION)


@check("SESSION-14 STATE-3", profile="fork")
def a_copy_outlives_its_original(context: CheckContext) -> None:
    """Closing the original does not end the copy."""
    session = context.start()
    copy = _copied(context, session)
    session.close().of("close")
    expect_equal(int64s(copy.step(1).observation), [1, 1], "steps and sum of the copy")


@cases({"thread": "thread", "process": "process"}, "SESSION-15", profile="fork")
def what_has_more_than_a_state_is_not_copied(context: CheckContext, starts: str) -> None:
    """An environment with a thread, or a process of its own, answers UNSUPPORTED, and goes on."""
    session = context.start("Odd", kwargs=entries(starts=text(starts)))
    _ask_copy(context, session.header).refused(Reason.UNSUPPORTED)
    expect_equal(session.step(0).observation.tuple.values[0], integer(1), "its steps")
