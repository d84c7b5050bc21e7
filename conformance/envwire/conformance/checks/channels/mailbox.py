"""The mailbox: small frames in memory that client and server share."""

from __future__ import annotations

from typing import Any

from envwire.codec import Reason
from envwire.conformance.checks.channels.frames import elements
from envwire.conformance.outcomes import FailedError, SkippedError, expect, expect_equal
from envwire.conformance.raw import Answer, BoxLink, DirectLink, Session
from envwire.conformance.raw.direct_link import HEADER, UNIX, WAKE, frame
from envwire.conformance.raw.values import counted, int64s, integer
from envwire.conformance.suite import CheckContext, Level, cases, check
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.v1.values_pb2 import Value

_DIRECT = ("direct",)
#: Size of a frame that goes into shared memory, in bytes.
_LARGE = 100_000


def on_unix(context: CheckContext, made: pb.MakeResponse) -> DirectLink:
    """Connects to a session's Unix socket.

    Raises:
        SkippedError: It has none.
    """
    found = [address for address in made.direct.addresses if address.startswith(UNIX)]
    if not found:
        raise SkippedError("the session has no Unix socket")
    return context.connect(made, found[0])


def open_boxes(
    context: CheckContext, made: pb.MakeResponse, *, shared_memory: bool = False
) -> BoxLink:
    """Opens a channel with a mailbox.

    Raises:
        FailedError: There is no mailbox, or its memory cannot be mapped.
    """
    link = on_unix(context, made)
    header = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
    link.hello(header, shared_memory=shared_memory, mailbox=True)
    if link.mailbox is None:
        raise FailedError("a mailbox in the welcome, and memory for it with the first byte")
    return BoxLink(link, link.mailbox, context.seconds)


def boxed(context: CheckContext, name: str = "Counter", **options: bool) -> tuple[Session, BoxLink]:
    """Makes a session with a mailbox, and resets it."""
    made = context.make(name).made
    link = open_boxes(context, made, **options)
    session = context.attach(made, link)
    session.reset(1)
    return session, link


def put(session: Session, link: BoxLink, kind: str, **fields: Any) -> Answer:
    """Puts the session's next request into the box, while the server looks there, and returns the answer."""
    link.await_server()
    link.put(session.request(kind, **fields))
    session.number += 1
    return link.receive()


@check("MAILBOX-1 MAILBOX-2 MAILBOX-3 MAILBOX-4", over=_DIRECT, profile="mailbox")
def a_mailbox_is_described(context: CheckContext) -> None:
    """The welcome says how large a box is. No frame was put into one yet, and the client sleeps."""
    link = open_boxes(context, context.make().made)
    expect(link.mailbox.longest > HEADER.size, "boxes that have room for a frame")
    expect_equal(link.mailbox.numbers, (0, 0), "frames in the boxes at first")
    server, client = link.mailbox.sleepers
    expect_equal(client, 1, "the byte of the client, which sleeps at first")
    expect(server in (0, 1), f"0 or 1 in the byte of the server, not {server}")


@check("MAILBOX-1", over=_DIRECT, profile="mailbox")
def who_does_not_ask_gets_none(context: CheckContext) -> None:
    """A hello that does not ask for a mailbox gets none, and an empty frame is a bad request there."""
    session = context.make()
    link = on_unix(context, session.made)
    _without_mailbox(link, link.hello(session.header).welcome)


@check("BOUND-9 MAILBOX-1", over=_DIRECT, profile="mailbox")
def there_is_none_over_tcp(context: CheckContext) -> None:
    """A hello over TCP that asks for a mailbox gets none, and an empty frame is a bad request there."""
    session = context.make()
    link = context.connect(session.made)
    _without_mailbox(link, link.hello(session.header, mailbox=True).welcome)


def _without_mailbox(link: DirectLink, welcome: direct_pb2.Welcome) -> None:
    expect(not welcome.HasField("mailbox"), "a welcome without a mailbox")
    link.send_bytes(WAKE)
    link.receive().refused(Reason.MALFORMED_REQUEST)


@check("MAILBOX-17", over=_DIRECT, profile="mailbox")
def the_memory_keeps_its_size(context: CheckContext) -> None:
    """The memory is sealed: it can neither grow nor shrink."""
    link = open_boxes(context, context.make().made)
    expect(not link.mailbox.resizable, "memory that cannot change its size")


@check("MAILBOX-2 MAILBOX-13", over=_DIRECT, profile="mailbox")
def it_comes_behind_the_shared_memory(context: CheckContext) -> None:
    """Of two descriptors the mailbox's is the second. Attachments are in a slot, or on the socket."""
    session, link = boxed(context, "Big", shared_memory=True)
    layout = link.link.welcome.shared_memory
    if not layout.slots:
        raise SkippedError("the server shares no memory for large frames")
    link.mailbox.look_out()
    for number in range(layout.slots + 2):
        answer = session.ask("step", action=integer(_LARGE))
        tensor = answer.of("step").observation.array
        expect(elements(answer, tensor) == counted(_LARGE), "the elements of the environment")
        expect(answer.slot or not link.in_box, "attachments behind a message on the socket")
        expect(number or answer.slot, "a slot of the shared memory")


@check("MAILBOX-5 MAILBOX-6 MAILBOX-8", over=_DIRECT, profile="mailbox")
def a_request_in_the_box_is_served(context: CheckContext) -> None:
    """While the server looks into its box it serves the requests there, as they come."""
    session, link = boxed(context)
    for number in range(1, 11):
        answer = put(session, link, "step", action=integer(1))
        expect_equal(int64s(answer.of("step").observation), [number, number], "steps and sum")
    expect_equal(link.mailbox.numbers[0], 10, "the requests in the box")


@check("MAILBOX-4 MAILBOX-5", over=_DIRECT, profile="mailbox", level=Level.RECOMMENDED)
def answers_come_into_the_box(context: CheckContext) -> None:
    """While the client looks into its box small answers are put there, and counted modulo 256."""
    session, link = boxed(context)
    link.mailbox.look_out()
    for number in range(1, 301):
        expect_equal(int64s(session.step(1).observation), [number, number], "steps and sum")
        expect(link.in_box, "an answer in the box")
        expect_equal(link.mailbox.numbers[1], number % 256, "the answers in the box")


@check("MAILBOX-5 MAILBOX-11", over=_DIRECT, profile="mailbox")
def a_client_that_sleeps_is_answered_on_the_socket(context: CheckContext) -> None:
    """No answer is put into the box of a client that sleeps, and no wake is sent."""
    session, link = boxed(context)
    for number in range(1, 11):
        expect_equal(int64s(session.step(1).observation), [number, number], "steps and sum")
    found = link.mailbox.numbers[1], link.wakes
    expect_equal(found, (0, 0), "answers in the box of a client that sleeps, and wakes")


@check("MAILBOX-14 MAILBOX-11 FRAME-4", over=_DIRECT, profile="mailbox")
def a_client_that_sleeps_may_send_several(context: CheckContext) -> None:
    """Requests that a client sends together while it sleeps are answered in order."""
    session, link = boxed(context)
    steps = [session.request("step", number, action=integer(1)) for number in range(2, 6)]
    link.link.send_bytes(b"".join(map(frame, steps)))
    counts = [int64s(link.receive().of("step").observation) for _ in steps]
    expect_equal(counts, [[1, 1], [2, 2], [3, 3], [4, 4]], "steps and sums")


_BEYOND = {"just-fits": 0, "too-long": 1, "much-too-long": 100_000}


@cases(_BEYOND, "MAILBOX-5", over=_DIRECT, profile="mailbox")
def an_answer_too_long_for_the_box_comes_on_the_socket(context: CheckContext, more: int) -> None:
    """An answer of any length comes whole, and on the socket if it does not fit into the box."""
    session, link = boxed(context, "Echo")
    link.mailbox.look_out()
    size = link.mailbox.longest - 100
    found = session.ask("step", action=_bytes(size)).raw
    action = _bytes(size + link.mailbox.longest - len(frame(found)) + more)
    answer = session.ask("step", action=action)
    expect_equal(answer.of("step").observation, action, "the observation")
    expect(not (more and link.in_box), "an answer on the socket, which does not fit into the box")


@check("MAILBOX-5", over=_DIRECT, profile="mailbox")
def a_request_that_just_fits_into_the_box_is_served(context: CheckContext) -> None:
    """A request that is as long as the box has room is served from there, and a longer one from the socket."""
    session, link = boxed(context, "Echo")
    link.mailbox.look_out()
    size = link.mailbox.longest - 100
    asked = session.request("step", action=_bytes(size))
    fits = size + link.mailbox.longest - len(frame(asked))
    answer = put(session, link, "step", action=_bytes(fits))
    expect_equal(answer.of("step").observation, _bytes(fits), "the observation")
    for more in (1, 100_000):
        found = session.step(_bytes(fits + more)).observation
        expect_equal(found, _bytes(fits + more), "the observation")


@check("MAILBOX-9 END-11", over=_DIRECT, profile="mailbox")
def a_close_in_the_box_is_answered(context: CheckContext) -> None:
    """The answer to a close comes, in the box or on the socket, though the channel ends."""
    session, link = boxed(context)
    link.mailbox.look_out()
    put(session, link, "close").of("close")
    expect(link.link.ended(context.seconds), "the end of the channel")
    session.send(session.request("reset"), context.unary).refused(Reason.SESSION_CLOSED)


@check("MAILBOX-18", over=_DIRECT, profile="mailbox")
def each_channel_has_its_own(context: CheckContext) -> None:
    """A new channel has a new mailbox, whose boxes are empty; in that of the earlier one nothing happens."""
    session, first = boxed(context)
    first.mailbox.look_out()
    put(session, first, "step", action=integer(1))
    session.link = second = open_boxes(context, session.made)
    expect_equal(second.mailbox.numbers, (0, 0), "frames in the new boxes")
    second.mailbox.look_out()
    answers = first.mailbox.numbers[1]
    first.mailbox.put(frame(session.request("step", action=integer(1))))
    session.reset(1)
    answer = put(session, second, "step", action=integer(1))
    expect_equal(int64s(answer.of("step").observation), [1, 1], "steps and sum")
    expect_equal(first.mailbox.numbers[1], answers, "answers in the earlier box")


def _bytes(size: int) -> Value:
    return Value(bytes_value=counted(size))
