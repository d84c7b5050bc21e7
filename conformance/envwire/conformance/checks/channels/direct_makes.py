"""Make on the direct port, for clients without gRPC."""

from __future__ import annotations

import os

from envwire.codec import Reason
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw import Answer, DirectLink
from envwire.conformance.raw.direct_link import PREAMBLE, frame
from envwire.conformance.raw.values import int64s
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

_DIRECT = ("direct",)


def _connected(context: CheckContext) -> DirectLink:
    """Returns a connection to the direct port, whose address an earlier session returned."""
    return context.connect(context.make().made)


def _hello(context: CheckContext) -> bytes:
    return frame(direct_pb2.HelloRequest(make=direct_pb2.MakeHello(token=context.access.token)))


def _refusal(link: DirectLink) -> Answer:
    return Answer(pb.InteractResponse(error=link.receive_hello().error))


@check("OPEN-9 OPEN-10 OPEN-11 OPEN-13", over=_DIRECT, profile="direct-make")
def a_session_is_made_here(context: CheckContext) -> None:
    """A hello with `make` and a MakeRequest are answered with `made`, then `welcome`, and the session works."""
    link = _connected(context)
    link.send_bytes(PREAMBLE + _hello(context) + frame(context.make_request()))
    made = link.receive_hello().made
    expect_equal(len(made.secret), 16, "the length of the secret")
    expect(link.receive_hello().HasField("welcome"), "a welcome behind it")
    session = context.attach(made, link)
    session.reset(1)
    expect_equal(int64s(session.step(1).observation), [1, 1], "steps and sum")
    session.close().of("close")


@check("OPEN-11 OPEN-12 FRAME-4", over=_DIRECT, profile="direct-make")
def its_frames_may_come_apart(context: CheckContext) -> None:
    """The MakeRequest may arrive later than the hello, in pieces."""
    link = _connected(context)
    link.send_bytes(PREAMBLE + _hello(context))
    for byte in frame(context.make_request()):
        link.send_bytes(bytes([byte]))
    made = link.receive_hello().made
    expect(link.receive_hello().HasField("welcome"), "a welcome")
    context.attach(made, link).close().of("close")


@check("OPEN-13 OPEN-14", over=_DIRECT, profile="direct-make")
def what_is_unknown_is_refused_here_too(context: CheckContext) -> None:
    """An unknown id is answered with UNKNOWN_ENVIRONMENT, and the connection ends."""
    link = _connected(context)
    link.send_bytes(PREAMBLE + _hello(context) + frame(context.make_request("NoSuchEnvironment")))
    _refusal(link).refused(Reason.UNKNOWN_ENVIRONMENT)
    expect(link.ended(5.0), "the end of the connection")


@cases({"unparsable": b"\xff\xff\xff"}, "OPEN-13 OPEN-17", over=_DIRECT, profile="direct-make")
def what_is_no_make_is_refused(context: CheckContext, nonsense: bytes) -> None:
    """A second frame without a MakeRequest is answered with MALFORMED_REQUEST, and the connection ends."""
    link = _connected(context)
    link.send_bytes(PREAMBLE + _hello(context) + frame(nonsense))
    _refusal(link).refused(Reason.MALFORMED_REQUEST)
    expect(link.ended(5.0), "the end of the connection")


@check("OPEN-14 OPEN-15 SESSION-32", over=_DIRECT, profile="direct-make")
def a_lost_make_is_repeated(context: CheckContext) -> None:
    """A connection that ends before the answer does not end the Make: repeating it returns the session."""
    request = context.make_request(request_id=os.urandom(16))
    first = _connected(context)
    first.send_bytes(PREAMBLE + _hello(context) + frame(request))
    made = first.receive_hello().made
    first.close()
    again = _connected(context)
    again.send_bytes(PREAMBLE + _hello(context) + frame(request))
    expect_equal(again.receive_hello().made.session_id, made.session_id, "the session")
    expect(again.receive_hello().HasField("welcome"), "a welcome")
    context.attach(made, again).close().of("close")


@check("OPEN-8 METHOD-7", over=_DIRECT, profile="direct-make")
def a_session_made_here_is_served_elsewhere(context: CheckContext) -> None:
    """A session made on the direct port also works over unary calls."""
    link = _connected(context)
    link.send_bytes(PREAMBLE + _hello(context) + frame(context.make_request()))
    made = context.made(Answer(pb.InteractResponse(make=link.receive_hello().made)))
    link.receive_hello()
    session = context.attach(made, context.unary)
    session.reset(1)
    session.step(1)


@check("OPEN-12 ACCESS-1", over=_DIRECT, profile="auth")
def a_make_here_needs_the_token(context: CheckContext) -> None:
    """Without the required token, Make is answered with UNAUTHENTICATED, and the connection ends."""
    link = _connected(context)
    hello = frame(direct_pb2.HelloRequest(make=direct_pb2.MakeHello()))
    link.send_bytes(PREAMBLE + hello + frame(context.make_request()))
    _refusal(link).refused(Reason.UNAUTHENTICATED)
