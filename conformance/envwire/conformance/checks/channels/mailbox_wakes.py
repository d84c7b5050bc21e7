"""The mailbox when one side sleeps: what wakes it, and what a wake does not do."""

from __future__ import annotations

import time

from envwire.conformance.checks.channels.mailbox import boxed, put
from envwire.conformance.outcomes import expect_equal
from envwire.conformance.raw.direct_link import WAKE, frame
from envwire.conformance.raw.values import int64s, integer
from envwire.conformance.suite import CheckContext, Level, cases, check
from envwire.v1.values_pb2 import Value

_DIRECT = ("direct",)
#: Rounds of the checks that look for a moment: that in which one side falls asleep.
_ROUNDS = 200
#: Longer than a server that saves its processor looks into its box, in seconds.
_MOMENT = 300e-6
#: A step that is longer than that, in seconds.
_LONG_STEP = 0.3


def _pass(seconds: float) -> None:
    """Waits for a time that is too short to sleep."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


@check("MAILBOX-6 MAILBOX-7 MAILBOX-10 MAILBOX-11", over=_DIRECT, profile="mailbox")
def a_client_that_falls_asleep_is_woken(context: CheckContext) -> None:
    """Whenever a client sets its byte, it gets the answer on the socket, or a wake for one in the box."""
    session, link = boxed(context)
    for number in range(1, _ROUNDS + 1):
        link.mailbox.look_out()
        link.send(session.request("step", action=integer(1)))
        session.number += 1
        if number % 4:  # else at once
            _pass(context.random.random() * _MOMENT)
        answer = link.fall_asleep().of("step")
        expect_equal(int64s(answer.observation), [number, number], "steps and sum")


@check("MAILBOX-7 MAILBOX-11", over=_DIRECT, profile="mailbox")
def a_client_that_falls_asleep_in_a_long_step_is_woken(context: CheckContext) -> None:
    """A client that sets its byte in the middle of a step gets the answer on the socket, or a wake."""
    session, link = boxed(context, "Slow")
    link.mailbox.look_out()
    link.send(session.request("step", action=Value(float_value=_LONG_STEP)))
    time.sleep(_LONG_STEP / 2)
    link.fall_asleep().of("step")


@check("MAILBOX-7 MAILBOX-8 MAILBOX-12", over=_DIRECT, profile="mailbox")
def a_server_that_fell_asleep_is_woken(context: CheckContext) -> None:
    """A request that was put into the box as the server fell asleep is served after the wake."""
    session, link = boxed(context)
    for number in range(1, 4):
        link.await_server()
        context.eventually(lambda: link.mailbox.sleepers[0] == 1, "a server that sleeps")
        link.put(session.request("step", action=integer(1)))
        session.number += 1
        answer = link.receive().of("step")
        expect_equal(int64s(answer.observation), [number, number], "steps and sum")


@check("MAILBOX-6 MAILBOX-8 MAILBOX-10", over=_DIRECT, profile="mailbox")
def no_request_is_lost_as_the_server_falls_asleep(context: CheckContext) -> None:
    """A request is served at whatever moment it is put into the box, with a wake or without."""
    session, link = boxed(context)
    for number in range(1, _ROUNDS + 1):
        link.await_server()
        _pass(context.random.random() * _MOMENT)
        link.put(session.request("step", action=integer(1)))
        session.number += 1
        answer = link.receive().of("step")
        expect_equal(int64s(answer.observation), [number, number], "steps and sum")


_WAKES = {"one": [WAKE], "three": [WAKE * 3], "in-pieces": [WAKE[:1], WAKE[1:9], WAKE[9:]]}


@cases(_WAKES, "MAILBOX-12", over=_DIRECT, profile="mailbox")
def a_wake_is_not_answered(context: CheckContext, wakes: list[bytes]) -> None:
    """Wakes that find nothing in the box change nothing, before requests, behind them and with them."""
    session, link = boxed(context)
    for number in range(1, 6):
        step = frame(session.request("step", action=integer(1)))
        session.number += 1
        for data in (*wakes, step, *wakes) if number % 2 else (b"".join([*wakes, step, *wakes]),):
            link.link.send_bytes(data)
        answer = link.receive().of("step")
        expect_equal(int64s(answer.observation), [number, number], "steps and sum")
    link.mailbox.look_out()
    answer = put(session, link, "step", action=integer(1)).of("step")
    expect_equal(int64s(answer.observation), [6, 6], "steps and sum")


@cases(
    {"asleep": True, "awake": False},
    "MAILBOX-12 FRAME-4",
    over=_DIRECT,
    profile="mailbox",
    level=Level.RECOMMENDED,
)
def half_a_wake_disturbs_no_request_in_the_box(context: CheckContext, asleep: bool) -> None:
    """A request in the box is served, though only half of an earlier wake has arrived on the socket."""
    session, link = boxed(context)
    for number in range(1, 6):
        link.await_server()
        if asleep:
            context.eventually(lambda: link.mailbox.sleepers[0] == 1, "a server that sleeps")
        link.link.send_bytes(WAKE[:7])
        if asleep:
            context.eventually(link.link.all_read, "a server that reads what has arrived")
        link.put(session.request("step", action=integer(1)))
        session.number += 1
        answer = link.receive().of("step")
        expect_equal(int64s(answer.observation), [number, number], "steps and sum")
        link.link.send_bytes(WAKE[7:])
