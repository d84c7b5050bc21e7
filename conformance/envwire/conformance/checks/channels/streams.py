"""The Interact stream."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.outcomes import FailedError, expect, expect_equal
from envwire.conformance.raw import Session, StreamLink
from envwire.conformance.raw.values import UNKNOWN_FIELD, int64s, integer
from envwire.conformance.suite import CheckContext, check
from envwire.v1 import environment_pb2 as pb

_STREAM = ("stream",)
#: gRPC's status INTERNAL.
_INTERNAL = 13


def _running(context: CheckContext) -> tuple[Session, StreamLink]:
    made = context.make().made
    stream = context.stream()
    session = context.attach(made, stream)
    session.reset(1)
    return session, stream


def _step(session: Session, sequence: int) -> bytes:
    step = session.request("step", sequence, action=integer(1), header=session.header)
    return step.SerializeToString()


@check("METHOD-1 METHOD-2 METHOD-3", over=_STREAM)
def answers_come_in_order(context: CheckContext) -> None:
    """Ten requests sent at once get one answer each, in order."""
    session, stream = _running(context)
    for number in range(2, 12):
        stream.send(_step(session, number))
    counts = [int64s(stream.receive().of("step").observation) for _ in range(10)]
    expect_equal(counts, [[count, count] for count in range(1, 11)], "steps and sums")


@check("METHOD-4", over=_STREAM)
def an_error_does_not_end_the_stream(context: CheckContext) -> None:
    """A refused request is answered with `error`, and the next one is served."""
    session, _ = _running(context)
    session.peek("step", 99, action=integer(1)).refused(Reason.SEQUENCE_GAP)
    session.step(1)


@check("METHOD-5 METHOD-6 SEQUENCE-8", over=_STREAM)
def what_cannot_be_parsed_harms_no_session(context: CheckContext) -> None:
    """An unparsable message is answered with MALFORMED_REQUEST, or ends the stream with INTERNAL; it uses no number."""
    session, stream = _running(context)
    stream.send(b"\xff\xff\xff")
    try:
        stream.receive().refused(Reason.MALFORMED_REQUEST)
    except FailedError:
        expect_equal(stream.status().code, _INTERNAL, "the status of the stream")
        session.link = context.stream()
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


@check("METHOD-2", over=_STREAM)
def an_empty_request_is_refused(context: CheckContext) -> None:
    """A request of no kind, or of an unknown kind, is answered with an error."""
    session, stream = _running(context)
    for nonsense in (b"", UNKNOWN_FIELD):
        stream.send(nonsense)
        stream.receive().refused(Reason.MALFORMED_REQUEST, Reason.UNSUPPORTED)
    session.step(1)


@check("COMPAT-2", over=_STREAM)
def unknown_fields_on_a_stream_are_ignored(context: CheckContext) -> None:
    """An unknown field beside the request is ignored."""
    session, stream = _running(context)
    stream.send(_step(session, 2) + UNKNOWN_FIELD)
    expect_equal(int64s(stream.receive().of("step").observation), [1, 1], "the observation")


@check("METHOD-2 METHOD-7", over=_STREAM)
def a_stream_carries_every_request(context: CheckContext) -> None:
    """Make, GetServerInfo and ListEnvironments are served on a stream, and so is a session made there."""
    stream = context.stream()
    made = context.made(
        stream.exchange(pb.InteractRequest(make=context.make_request()), context.seconds)
    )
    session = context.attach(made, stream)
    session.reset(1)
    for kind in ("get_server_info", "list_environments"):
        request = pb.InteractRequest()
        getattr(request, kind).SetInParent()
        answer = stream.exchange(request, context.seconds)
        expect(
            answer.kind == kind or answer.info.reason == Reason.UNSUPPORTED.name,
            f"{kind} or UNSUPPORTED",
        )
    session.step(1)


@check("METHOD-7", over=_STREAM)
def a_stream_carries_several_sessions(context: CheckContext) -> None:
    """Two sessions take turns on one stream."""
    stream = context.stream()
    sessions = [context.attach(context.make().made, stream) for _ in range(2)]
    for session in sessions:
        session.reset(1)
    for count in range(1, 4):
        for session, action in zip(sessions, (0, 1), strict=True):
            observation = session.step(action).observation
            expect_equal(int64s(observation), [count, count * action], "steps and sum")


@check("METHOD-7", over=_STREAM)
def two_streams_may_drive_one_session(context: CheckContext) -> None:
    """A session can switch to another stream, with unary calls in between."""
    session, first = _running(context)
    for link in (context.stream(), context.unary, first):
        session.link = link
        session.step(1)
    expect_equal(int64s(session.step(1).observation), [4, 4], "steps and sum")


@check("METHOD-3", over=_STREAM)
def what_was_sent_is_answered_before_the_end(context: CheckContext) -> None:
    """After the client's half-close the pending answers arrive, then the stream ends with OK."""
    session, stream = _running(context)
    for number in (2, 3):
        stream.send(_step(session, number))
    stream.half_close()
    counts = [int64s(stream.receive().of("step").observation) for _ in range(2)]
    expect_equal(counts, [[1, 1], [2, 2]], "steps and sums")
    expect_equal(stream.status().code, 0, "the status of the stream")


@check("METHOD-7 LEASE-8", over=_STREAM)
def a_session_outlives_its_stream(context: CheckContext) -> None:
    """The end of a stream does not end its sessions."""
    session, stream = _running(context)
    session.step(1)
    stream.close()
    session.link = context.unary
    expect_equal(int64s(session.step(1).observation), [2, 2], "steps and sum")


@check("SEQUENCE-9 SEQUENCE-5", over=_STREAM)
def duplicates_in_flight_are_one_step(context: CheckContext) -> None:
    """A step sent three times at once is taken once, and answered three times."""
    session, stream = _running(context)
    for _ in range(3):
        stream.send(_step(session, 2))
    counts = [int64s(stream.receive().of("step").observation) for _ in range(3)]
    expect_equal(counts, [[1, 1]] * 3, "steps and sums")


@check("SEQUENCE-5 SEQUENCE-8", over=_STREAM)
def reordered_requests_are_refused(context: CheckContext) -> None:
    """Of two steps in the wrong order, the first to arrive is refused and the other is served."""
    session, stream = _running(context)
    stream.send(_step(session, 3))
    stream.send(_step(session, 2))
    stream.receive().refused(Reason.SEQUENCE_GAP)
    expect_equal(int64s(stream.receive().of("step").observation), [1, 1], "steps and sum")
