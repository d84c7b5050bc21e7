"""Session ids and secrets."""

from __future__ import annotations

from collections.abc import Callable

from envwire.codec import Reason
from envwire.conformance.outcomes import expect_equal
from envwire.conformance.raw import Answer, Session
from envwire.conformance.raw.values import int64s, integer
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1 import environment_pb2 as pb

_GRPC = ("unary", "stream")


def _flipped(secret: bytes, at: int) -> bytes:
    return bytes(byte ^ (index == at) for index, byte in enumerate(secret))


def _shown(session: Session, kind: str, header: pb.SessionHeader | None) -> Answer:
    """Sends the next request with another header, or with none, and without counting it."""
    request = session.request(kind)
    message = getattr(request, kind)
    if kind == "step":
        message.action.int_value = 1
    if header is not None:
        message.header.CopyFrom(header)
    return session.link.exchange(request, 10.0)


_WRONG: dict[str, Callable[[bytes], bytes]] = {
    "first-bit": lambda secret: _flipped(secret, 0),
    "last-bit": lambda secret: _flipped(secret, 15),
    "empty": lambda _: b"",
    "short": lambda secret: secret[:15],
    "long": lambda secret: secret + b"\0",
    "zeros": lambda _: bytes(16),
}


@cases(_WRONG, "SESSION-20 SEQUENCE-1 SEQUENCE-8", over=_GRPC)
def a_wrong_secret_is_refused(context: CheckContext, wrong: Callable[[bytes], bytes]) -> None:
    """A wrong secret is answered with WRONG_SECRET; the request does nothing and uses no number."""
    session = context.start()
    secret = wrong(session.made.secret)
    header = pb.SessionHeader(session_id=session.made.session_id, secret=secret)
    _shown(session, "step", header).refused(Reason.WRONG_SECRET)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


@check("SESSION-20", over=_GRPC)
def another_sessions_secret_is_wrong(context: CheckContext) -> None:
    """The secret of one session is wrong for another."""
    session, other = context.make(), context.make()
    header = pb.SessionHeader(session_id=session.made.session_id, secret=other.made.secret)
    _shown(session, "reset", header).refused(Reason.WRONG_SECRET)


@cases(
    {"random": "0" * 32, "odd": "../../etc/passwd"},
    "SESSION-29 SESSION-28",
    over=_GRPC,
)
def an_unknown_session_is_refused(context: CheckContext, name: str) -> None:
    """An unknown id is answered with UNKNOWN_SESSION, whatever the secret."""
    session = context.make()
    header = pb.SessionHeader(session_id=name, secret=session.made.secret)
    _shown(session, "reset", header).refused(Reason.UNKNOWN_SESSION)


@cases({"absent": None, "without-id": pb.SessionHeader(secret=bytes(16))}, "SESSION-37", over=_GRPC)
def a_request_without_header_is_refused(
    context: CheckContext, header: pb.SessionHeader | None
) -> None:
    """A request without a session header is answered with MALFORMED_REQUEST."""
    session = context.make()
    _shown(session, "reset", header).refused(Reason.MALFORMED_REQUEST)
    session.reset(1)


_OF_A_SESSION = (
    "reset",
    "step",
    "render",
    "close",
    "get_attribute",
    "set_attribute",
    "call_method",
    "renew_lease",
    "get_session_stats",
    "replay",
    "save_state",
    "restore_state",
)


@cases({kind: kind for kind in _OF_A_SESSION}, "SESSION-20 SESSION-21")
def every_method_asks_for_the_secret(context: CheckContext, kind: str) -> None:
    """With a wrong secret no request of a session is served; `Close` does not close."""
    session = context.start()
    header = pb.SessionHeader(session_id=session.made.session_id, secret=bytes(16))
    answer = _shown(session, kind, header)
    answer.refused(Reason.WRONG_SECRET, Reason.UNSUPPORTED)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


@check("SESSION-20")
def the_owner_is_served_among_strangers(context: CheckContext) -> None:
    """Requests with wrong secrets do not disturb the owner."""
    session = context.start()
    header = pb.SessionHeader(session_id=session.made.session_id, secret=bytes(16))
    for _ in range(3):
        _shown(session, "step", header).refused(Reason.WRONG_SECRET)
        session.step(1)
    expect_equal(int64s(session.step(1).observation), [4, 4], "steps and sum")
    session.ask("step", action=integer(0)).of("step")
