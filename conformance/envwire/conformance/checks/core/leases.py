"""Leases and deadlines."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

from google.protobuf.duration_pb2 import Duration

from envwire.codec import Reason
from envwire.conformance.outcomes import FailedError, SkippedError, expect, expect_equal
from envwire.conformance.raw import Session
from envwire.conformance.raw.values import entries, int64s
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1 import environment_pb2 as pb
from envwire.v1.values_pb2 import Value

#: A short lease, and a wait that is certainly longer, in seconds.
_SHORT, _LONGER = 1.0, 2.5
#: The longest `step_timeout` that a check waits for, in seconds.
_PATIENCE = 10.0


def _duration(seconds: float) -> Duration:
    return Duration(seconds=int(seconds), nanos=int(seconds % 1 * 1e9))


def _lease(message: Any) -> float:
    seconds: float = message.lease.ToTimedelta().total_seconds()
    return seconds


def _short_lived(context: CheckContext, name: str = "Counter") -> Session:
    session = context.make(name, lease=_duration(_SHORT))
    expect(_lease(session.made) <= _SHORT, f"a lease of {_SHORT} s, as asked for")
    return session


@check("LEASE-2 SESSION-13")
def a_lease_is_granted_as_asked(context: CheckContext) -> None:
    """Make grants the requested lease."""
    expect_equal(_lease(context.make(lease=_duration(7.5)).made), 7.5, "the lease")


@cases({"absent": None, "zero": Duration(), "negative": Duration(seconds=-5)}, "LEASE-2")
def without_one_the_default_is_granted(context: CheckContext, asked: Duration | None) -> None:
    """Without a lease, or with one that is not positive, default_lease is granted."""
    made = context.make(lease=asked).made
    expect(_lease(made) > 0, "a lease above zero")
    if context.info.HasField("default_lease"):
        wanted = context.info.default_lease.ToTimedelta().total_seconds()
        expect_equal(_lease(made), wanted, "the lease")


@check("LEASE-2", profile="info")
def the_longest_lease_is_max_lease(context: CheckContext) -> None:
    """A longer one is cut to max_lease."""
    most = context.info.max_lease.ToTimedelta().total_seconds()
    expect_equal(_lease(context.make(lease=_duration(most + 1000)).made), most, "the lease")


@check("LEASE-1 LEASE-3 STATE-11")
def a_lease_runs_out(context: CheckContext) -> None:
    """A session without requests ends when its lease has run out, with that reason."""
    session = _short_lived(context)
    session.reset(1)
    time.sleep(_LONGER)
    session.ask("step", action=Value(int_value=1)).refused(Reason.SESSION_EXPIRED)
    session.peek("render", session.number).refused(Reason.SESSION_EXPIRED)


@check("LEASE-6 LEASE-8")
def a_lease_is_renewed(context: CheckContext) -> None:
    """RenewLease answers with the full lease, and repeated calls keep the session."""
    session = _short_lived(context)
    session.reset(1)
    until = time.monotonic() + _LONGER
    while time.monotonic() < until:
        expect_equal(
            _lease(session.ask("renew_lease").of("renew_lease")),
            _lease(session.made),
            "the renewed lease",
        )
        session.number -= 1  # RenewLease has no number
        time.sleep(_SHORT / 3)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the same episode")


@check("LEASE-3")
def each_request_renews(context: CheckContext) -> None:
    """Each request renews the lease."""
    session = _short_lived(context)
    session.reset(1)
    until = time.monotonic() + _LONGER
    while time.monotonic() < until:
        time.sleep(_SHORT / 3)
        session.step(0)


@check("LEASE-3")
def a_request_being_served_keeps_its_session(context: CheckContext) -> None:
    """A step that takes longer than the lease is answered, and the session lives on."""
    session = _short_lived(context, "Slow")
    session.reset(1)
    session.step(Value(float_value=_SHORT * 1.5))
    session.step(Value(float_value=0.0))


@check("LEASE-4 END-4", over=("stream", "direct"))
def an_open_channel_keeps_its_session(context: CheckContext) -> None:
    """A stream that sent a request, or an open direct channel, keeps an idle session."""
    session = _short_lived(context)
    session.reset(1)
    time.sleep(_LONGER)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the same episode")


@check("LEASE-5 LEASE-8 END-5", over=("stream", "direct"))
def the_lease_runs_when_the_channel_ends(context: CheckContext) -> None:
    """A client that returns before the lease is over goes on; after that, the session has expired."""
    session = _short_lived(context)
    session.reset(1)
    session.link.close()
    session.link = context.link_to(session.made)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the same episode")
    session.link.close()
    time.sleep(_LONGER)
    session.link = context.unary
    session.ask("step", action=Value(int_value=1)).refused(Reason.SESSION_EXPIRED)


@check("LEASE-7", over=("stream",))
def renewing_on_a_stream_does_not_tie(context: CheckContext) -> None:
    """A stream that only renewed the lease does not keep the session."""
    session = _short_lived(context)
    session.ask("renew_lease").of("renew_lease")
    time.sleep(_LONGER)
    stream, session.link, session.number = session.link, context.unary, 0
    session.ask("reset").refused(Reason.SESSION_EXPIRED)
    stream.close()


@check("LEASE-4", over=("stream",))
def a_stream_keeps_what_it_made(context: CheckContext) -> None:
    """A stream keeps the sessions made on it."""
    stream = context.stream()
    request = pb.InteractRequest(make=context.make_request(lease=_duration(_SHORT)))
    made = context.made(stream.exchange(request, context.seconds))
    time.sleep(_LONGER)
    context.attach(made, context.unary).reset(1)


@check("LEASE-12 SEQUENCE-9 SEQUENCE-10")
def a_deadline_stops_no_request(context: CheckContext) -> None:
    """A step whose call exceeded its deadline is served once, and repeating it returns the answer."""
    session = context.start("Slow")
    step = session.request("step", action=Value(float_value=1.0), header=session.header)
    hurried = context.unary.exchange(step, 0.2)
    expect(hurried.kind == "error", "no answer within 0.2 s of a step that takes 1 s")
    observation = session.send(step).of("step").observation
    expect_equal(observation.int_value, 1, "the number of steps that were taken")
    session.number += 1
    expect_equal(session.step(Value(float_value=0.0)).observation.int_value, 2, "that of the next")


@check("LEASE-11")
def a_make_has_a_limit_of_its_own(context: CheckContext) -> None:
    """An environment that takes longer to make than a step may take is made."""
    limit = context.make("Odd").made.step_timeout.ToTimedelta().total_seconds()
    if limit > _PATIENCE:
        raise SkippedError(f"step_timeout is {limit:g} s; run the server with one of at most 10 s")
    kwargs = entries(seconds=Value(float_value=limit + 0.5))
    context.ask_make("Odd", kwargs=kwargs).of("make")


@check("LEASE-10 STATE-2")
def a_request_has_its_time(context: CheckContext) -> None:
    """A step longer than step_timeout is answered with STEP_TIMEOUT, and so are later requests."""
    session = context.make("Slow")
    limit = session.made.step_timeout.ToTimedelta().total_seconds()
    if limit > _PATIENCE:
        raise SkippedError(f"step_timeout is {limit:g} s; run the server with one of at most 10 s")
    session.reset(1)
    session.link, before = context.unary, session.link
    step = session.request("step", action=Value(float_value=limit + 30), header=session.header)
    context.unary.exchange(step, limit + context.seconds).refused(Reason.STEP_TIMEOUT)
    session.number += 1
    session.ask("reset").refused(Reason.STEP_TIMEOUT)
    before.close()


#: HTTP/2: what a client begins with, empty SETTINGS behind it; and the types of frames.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_PING = 6
#: Seconds until a ping comes, until its lack of an answer ends the connection, and what a busy machine may add.
_SILENT, _UNANSWERED, _LATE = 20.0, 10.0, 5.0


@check("LEASE-9")
def a_silent_connection_is_pinged(context: CheckContext) -> None:
    """After 20 s a connection that says nothing is pinged, and closed when no answer comes within 10 s."""
    if context.access.ca:
        raise SkippedError("it is looked at in plain text only")
    address = context.access.host, int(context.access.target.rpartition(":")[2])
    began = time.monotonic()
    with socket.create_connection(address, _SILENT + _UNANSWERED + _LATE) as connection:
        connection.sendall(_PREFACE)
        pinged = [time.monotonic() - began for kind in _frames(connection) if kind == _PING]
    expect(bool(pinged), "a ping before the end of the connection")
    expect(
        pinged[0] < _SILENT + _LATE, f"a ping within {_SILENT + _LATE:g} s, not {pinged[0]:.1f} s"
    )


def _frames(connection: socket.socket) -> Iterator[int]:
    """Yields the types of the frames of HTTP/2 until the server closes the connection.

    Raises:
        FailedError: It does not, in time.
    """
    with connection.makefile("rb") as read:
        try:
            while head := read.read(9):
                read.read(int.from_bytes(head[:3], "big"))
                yield head[3]
        except TimeoutError:
            raise FailedError("the end of a connection that answers no pings") from None
        except ConnectionError:
            return
