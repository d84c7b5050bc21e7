"""Requests in a mailbox: numbered and refused as on the socket; and what no client should put there."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from envwire.codec import Reason
from envwire.conformance.checks.channels.mailbox import boxed, open_boxes, put
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw import Answer, BoxLink, Session
from envwire.conformance.raw.direct_link import HEADER, WAKE, frame
from envwire.conformance.raw.mailbox import FRAME_AT
from envwire.conformance.raw.values import int64s, integer
from envwire.conformance.suite import CheckContext, cases, check

_DIRECT = ("direct",)
#: How often an attack is repeated.
_ROUNDS = 50
#: How long a server may take to read a bad request, before the next attack, in seconds.
_READ_SECONDS = 0.05


def _put(link: BoxLink, data: bytes) -> Answer:
    """Puts the frame of any message into the box, while the server looks there, and returns the answer."""
    link.await_server()
    link.put_bytes(frame(data))
    return link.receive()


def _counts(answer: Answer, number: int) -> None:
    expect_equal(int64s(answer.of("step").observation), [number, number], "steps and sum")


@check("MAILBOX-19 SEQUENCE-4 SEQUENCE-5", over=_DIRECT, profile="mailbox")
def a_request_in_the_box_is_served_once(context: CheckContext) -> None:
    """A request that is repeated in the box, on the socket, and over gRPC, is taken once."""
    session, link = boxed(context)
    link.mailbox.look_out()
    step = session.request("step", action=integer(1))
    _counts(put(session, link, "step", action=integer(1)), 1)
    _counts(_put(link, step.SerializeToString()), 1)
    _counts(session.send(step), 1)
    _counts(session.send(step, context.unary), 1)
    _counts(put(session, link, "step", action=integer(1)), 2)


@check("MAILBOX-19 SEQUENCE-9", over=_DIRECT, profile="mailbox")
def a_request_is_repeated_on_the_next_channel(context: CheckContext) -> None:
    """A request whose channel ended before its answer came is taken once, wherever it is repeated."""
    session, link = boxed(context)
    for number in range(1, 6):
        link.await_server()
        step = session.request("step", action=integer(1))
        link.put(step)
        link.close()
        session.link = link = open_boxes(context, session.made)
        _counts(session.ask("step", action=integer(1)), number)


@check("MAILBOX-19 SEQUENCE-8 OPEN-6", over=_DIRECT, profile="mailbox")
def a_bad_request_in_the_box_is_refused(context: CheckContext) -> None:
    """A gap, a header, and what cannot be parsed are refused, and use no number."""
    session, link = boxed(context)
    link.mailbox.look_out()
    gap = session.request("step", session.number + 2, action=integer(1))
    _put(link, gap.SerializeToString()).refused(Reason.SEQUENCE_GAP)
    shown = session.request("step", action=integer(1), header=session.header)
    _put(link, shown.SerializeToString()).refused(Reason.MALFORMED_REQUEST)
    _put(link, b"\xff\xff\xff").refused(Reason.MALFORMED_REQUEST)
    _counts(put(session, link, "step", action=integer(1)), 1)


_HEADERS = {
    "empty": WAKE,
    "one-too-long": b"",  # depends on the size of the box
    "too-long": HEADER.pack(2**20, 0, 0),
    "longest": HEADER.pack(2**32 - 1, 0, 0),
    "attachments": HEADER.pack(4, 0, 64),
    "slot": HEADER.pack(4, 1, 0),
}


@cases(_HEADERS, "MAILBOX-16 BOUND-2 FRAME-3", over=_DIRECT, profile="mailbox")
def a_frame_that_may_not_be_ends_the_channel(context: CheckContext, header: bytes) -> None:
    """A frame in the box that is empty, does not fit there, or has attachments, ends the channel, not the session."""
    session, link = boxed(context)
    link.await_server()
    one_too_long = HEADER.pack(link.mailbox.longest - HEADER.size + 1, 0, 0)
    link.put_bytes(header or one_too_long)
    expect(link.link.ended(context.seconds), "the end of the channel")
    _goes_on(context, session)


def _goes_on(context: CheckContext, session: Session) -> None:
    """Checks that no step was taken yet, and that the session goes on with a channel and mailbox of its own."""
    session.link = link = open_boxes(context, session.made)
    _counts(session.ask("step", action=integer(1)), 1)
    _counts(put(session, link, "step", action=integer(1)), 2)


@check("MAILBOX-15 MAILBOX-16", over=_DIRECT, profile="mailbox")
def a_frame_that_changes_harms_no_session(context: CheckContext) -> None:
    """Though the frame of a request changes while it is read, the session lives on, with the next channel."""
    session, link = boxed(context)
    whole = frame(session.request("reset", 1, seed=integer(1)))
    for _ in range(_ROUNDS):
        with _changing(link, whole), suppress(OSError):  # the channel may have ended
            link.put_bytes(whole)
            link.link.readable(_READ_SECONDS)
        link = open_boxes(context, session.made)
        link.exchange(session.request("reset", 1, seed=integer(1)), context.seconds)
    _goes_on(context, session)


@contextmanager
def _changing(link: BoxLink, whole: bytes) -> Generator[None]:
    """Changes the frame in the box of requests again and again: its length, and its message."""
    others = [
        whole,
        HEADER.pack(2**32 - 1, 0, 0),
        HEADER.pack(4000, 0, 0),
        whole[:-2] + b"\xff\xff",
    ]
    done = threading.Event()

    def change() -> None:
        for data in itertools.cycle(others):
            if done.is_set():
                return
            link.mailbox.write(FRAME_AT, data)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@check("MAILBOX-16 END-2", over=_DIRECT, profile="mailbox")
def rubbish_in_the_boxes_harms_no_session(context: CheckContext) -> None:
    """Whatever a client writes into both boxes, the session lives on, with the next channel."""
    session, link = boxed(context)
    for _ in range(_ROUNDS):
        link.mailbox.write(0, context.random.randbytes(2 * link.mailbox.box_bytes))
        if context.random.random() < 0.5:  # else the length is most often too long
            link.mailbox.write(FRAME_AT, HEADER.pack(context.random.randrange(1, 99), 0, 0))
        with suppress(OSError):  # it has ended already
            link.link.send_bytes(WAKE)
        link = open_boxes(context, session.made)
        link.exchange(session.request("reset", 1, seed=integer(1)), context.seconds)
    _goes_on(context, session)
