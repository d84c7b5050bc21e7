"""How a direct channel is opened, and what the server refuses."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw import Answer, DirectLink, Session
from envwire.conformance.raw.direct_link import HEADER, PREAMBLE, frame
from envwire.conformance.raw.values import UNKNOWN_FIELD, int64s, integer
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb

_DIRECT = ("direct",)
#: Longer than the five seconds in which a hello has to be complete, with slack for a busy machine.
_HELLO_SECONDS = 15.0


def _refused(link: DirectLink, answer: direct_pb2.HelloResponse, *reasons: Reason) -> None:
    """Checks the reason of a refusal, and that the connection ends."""
    Answer(pb.InteractResponse(error=answer.error)).refused(*reasons)
    expect(link.ended(5.0), "the end of the connection")


def _made(context: CheckContext) -> tuple[Session, DirectLink]:
    """Returns a session over unary calls, and a connection to it on which nothing was sent yet."""
    made = context.make().made
    return context.attach(made, context.unary), context.connect(made)


@check("DIRECT-1 DIRECT-3 OPEN-1 OPEN-2 OPEN-3 OPEN-4", over=_DIRECT)
def a_hello_is_welcome(context: CheckContext) -> None:
    """A hello with the session's header opens the channel, and the answer states the largest message."""
    session = context.make()
    expect(session.direct.welcome.max_message_bytes > 0, "max_message_bytes above 0")
    session.reset(1)


_FORMS = {"tcp": "", "unix": "unix-abstract:"}


@cases(_FORMS, "DIRECT-3 DIRECT-4 DIRECT-5", over=_DIRECT)
def every_address_leads_to_the_session(context: CheckContext, form: str) -> None:
    """A channel can be opened at each address of the list."""
    made = context.make().made
    for address in made.direct.addresses:
        if address.startswith("unix-abstract:") == bool(form):
            session = context.attach(made, context.direct(made, address))
            session.link.close()


@cases({"one-by-one": 1, "three": 3, "seventeen": 17}, "FRAME-4 OPEN-1", over=_DIRECT)
def frames_may_arrive_in_pieces(context: CheckContext, size: int) -> None:
    """Preamble, hello and request are read whatever pieces they arrive in."""
    session, link = _made(context)
    reset = session.request("reset")
    hello = PREAMBLE + frame(direct_pb2.HelloRequest(header=session.header))
    for data in (hello, frame(reset)):
        for start in range(0, len(data), size):
            link.send_bytes(data[start : start + size])
        if data is hello:
            expect(link.receive_hello().HasField("welcome"), "a welcome")
    link.receive().of("reset")


@check("FRAME-4 OPEN-4", over=_DIRECT)
def several_frames_may_arrive_at_once(context: CheckContext) -> None:
    """Requests that arrive together are answered in order."""
    session = context.start()
    steps = [session.request("step", number, action=integer(1)) for number in range(2, 6)]
    session.direct.send_bytes(b"".join(map(frame, steps)))
    counts = [int64s(session.direct.receive().of("step").observation) for _ in steps]
    expect_equal(counts, [[1, 1], [2, 2], [3, 3], [4, 4]], "steps and sums")


_NOT_ENVWIRE = {
    "http": b"GET / HTTP/1.1\r\n\r\n",
    "version-2": b"envwire\x02" + bytes(16),
    "zeros": bytes(64),
    "tls": bytes.fromhex("160301020001"),
}


@cases(_NOT_ENVWIRE, "OPEN-16", over=_DIRECT)
def another_beginning_is_closed(context: CheckContext, data: bytes) -> None:
    """A connection that begins with eight other bytes is closed without an answer."""
    _, link = _made(context)
    link.send_bytes(data.ljust(8, b"\0"))
    expect(link.ended(_HELLO_SECONDS), "the end of the connection, without a byte")


_BAD_HELLOS = {
    "unparsable": frame(b"\xff\xff\xff"),
    "empty": frame(b""),
    "too-long": frame(bytes(1025)),
    "announces-much": HEADER.pack(2**31, 0, 0),
}


@cases(_BAD_HELLOS, "OPEN-17 OPEN-2", over=_DIRECT)
def a_bad_hello_is_refused(context: CheckContext, data: bytes) -> None:
    """A hello that is too long or empty is answered with an error, and the connection ends."""
    _, link = _made(context)
    link.send_bytes(PREAMBLE + data)
    answer = link.receive_hello()
    _refused(link, answer, Reason.MALFORMED_REQUEST, Reason.UNKNOWN_SESSION)


@check("OPEN-19", over=_DIRECT)
def a_refusal_arrives_though_much_was_sent(context: CheckContext) -> None:
    """Data after a refused hello is discarded, and the client receives the error."""
    _, link = _made(context)
    link.send_bytes(PREAMBLE + frame(b"\xff\xff\xff") + bytes(500_000))
    _refused(link, link.receive_hello(), Reason.MALFORMED_REQUEST)


@check("DIRECT-6 SESSION-29 OPEN-3", over=_DIRECT)
def an_unknown_session_gets_no_channel(context: CheckContext) -> None:
    """A hello for an unknown session is answered with UNKNOWN_SESSION."""
    session, link = _made(context)
    header = pb.SessionHeader(session_id="0" * 32, secret=session.made.secret)
    _refused(link, link.hello(header), Reason.UNKNOWN_SESSION)


@cases({"other": bytes(16), "empty": b"", "long": bytes(17)}, "BOUND-5 SESSION-20", over=_DIRECT)
def a_wrong_secret_gets_no_channel(context: CheckContext, secret: bytes) -> None:
    """A hello with a wrong secret is answered with WRONG_SECRET, and does not disturb the owner."""
    session, link = _made(context)
    header = pb.SessionHeader(session_id=session.made.session_id, secret=secret)
    _refused(link, link.hello(header), Reason.WRONG_SECRET)
    session.reset(1)


@check("END-2 BOUND-5", over=_DIRECT)
def a_wrong_secret_closes_no_channel(context: CheckContext) -> None:
    """Only a hello with the right secret replaces the open channel."""
    session = context.start()
    stranger = context.connect(session.made)
    stranger.hello(pb.SessionHeader(session_id=session.made.session_id, secret=bytes(16)))
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


@check("COMPAT-2", over=_DIRECT)
def unknown_fields_of_a_hello_are_ignored(context: CheckContext) -> None:
    """A hello with an unknown field opens the channel."""
    session, link = _made(context)
    hello = direct_pb2.HelloRequest(header=session.header).SerializeToString() + UNKNOWN_FIELD
    link.send_bytes(PREAMBLE + frame(hello))
    expect(link.receive_hello().HasField("welcome"), "a welcome")


@check("OPEN-6 SEQUENCE-2 SEQUENCE-8", over=_DIRECT)
def a_header_is_refused_here(context: CheckContext) -> None:
    """A request with a header is answered with MALFORMED_REQUEST, and uses no number."""
    session = context.start()
    step = session.request("step", action=integer(1), header=session.header)
    session.link.exchange(step, context.seconds).refused(Reason.MALFORMED_REQUEST)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


_NOT_HERE = ("make", "list_environments", "get_server_info", "renew_lease", "get_session_stats")


@cases({kind: kind for kind in _NOT_HERE}, "OPEN-5", over=_DIRECT)
def other_requests_do_not_go_here(context: CheckContext, kind: str) -> None:
    """Make and the requests without a number are refused, and the channel stays open."""
    session = context.start()
    request = pb.InteractRequest()
    getattr(request, kind).SetInParent()
    answer = session.link.exchange(request, context.seconds)
    answer.refused(Reason.MALFORMED_REQUEST, Reason.UNSUPPORTED)
    session.step(1)


@check("OPEN-4 SEQUENCE-8", over=_DIRECT)
def what_cannot_be_parsed_is_refused(context: CheckContext) -> None:
    """A frame without a valid request is answered with MALFORMED_REQUEST, and uses no number."""
    session = context.start()
    for nonsense in (b"\xff\xff\xff", b"", UNKNOWN_FIELD):
        session.direct.send_bytes(frame(nonsense))
        session.direct.receive().refused(Reason.MALFORMED_REQUEST)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


@cases({"nothing": b"", "half": PREAMBLE + bytes(7)}, "OPEN-18", over=_DIRECT)
def an_unfinished_hello_is_closed(context: CheckContext, data: bytes) -> None:
    """A connection whose hello is not complete after 5 seconds is closed without an answer."""
    _, link = _made(context)
    link.send_bytes(data)
    expect(link.ended(_HELLO_SECONDS), "the end of the connection, without a byte")
