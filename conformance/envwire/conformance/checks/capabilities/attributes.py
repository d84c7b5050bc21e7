"""Attributes and methods."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw.values import entries, int64s, integer, look_up, text
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1.values_pb2 import ValueList

_LINKS = ("unary", "direct")


@check("DRIVE-15 DRIVE-17", over=_LINKS, profile="attributes")
def an_attribute_is_read(context: CheckContext) -> None:
    """Reading Counter's length returns the value 10, not a method."""
    answer = context.make().ask("get_attribute", name="length").of("get_attribute")
    expect_equal(answer.value, integer(10), "length")
    expect(answer.exists, "exists to be true")


@check("DRIVE-20", over=_LINKS, profile="attributes")
def an_attribute_is_set(context: CheckContext) -> None:
    """Counter's length can be set, and takes effect."""
    session = context.make()
    expect(
        session.ask("set_attribute", name="length", value=integer(1)).of("set_attribute").set, "set"
    )
    session.reset(1)
    expect(session.step(0).terminated, "the first step to end the episode")


@check("DRIVE-19", profile="attributes")
def a_missing_attribute_is_named(context: CheckContext) -> None:
    """Reading a missing attribute fails with ATTRIBUTE_MISSING; a probe answers that it does not exist."""
    session = context.make()
    session.ask("get_attribute", name="no_such_thing").refused(Reason.ATTRIBUTE_MISSING)
    probed = session.ask("get_attribute", name="no_such_thing", probe=True).of("get_attribute")
    expect(not probed.exists, "exists to be false")
    expect(probed.WhichOneof("result") is None, "neither value nor callable")


@check("DRIVE-19", profile="attributes")
def a_probe_finds_without_reading(context: CheckContext) -> None:
    """A probe of an existing attribute answers that it exists, without its value."""
    answer = context.make().ask("get_attribute", name="length", probe=True).of("get_attribute")
    expect(answer.exists, "exists to be true")
    expect(answer.WhichOneof("result") is None, "neither value nor callable")


@check("DRIVE-17", profile="attributes")
def a_method_is_told_as_such(context: CheckContext) -> None:
    """GetAttribute of a method sets `callable`."""
    answer = context.make().ask("get_attribute", name="add").of("get_attribute")
    expect(answer.callable, "callable to be true")


@check("DRIVE-15 DRIVE-17", over=_LINKS, profile="attributes")
def a_method_is_called(context: CheckContext) -> None:
    """CallMethod calls Counter's add, once for each number."""
    session = context.start()
    call = session.request("call_method", name="add", args=ValueList(values=[integer(5)]))
    for _ in range(2):
        expect_equal(session.send(call).of("call_method").result, integer(5), "the sum")
    session.number += 1
    expect_equal(int64s(session.step(1).observation), [2, 6], "steps and sum")


@check("DRIVE-15 VALUE-1", over=_LINKS, profile="attributes")
def arguments_reach_a_method(context: CheckContext) -> None:
    """Echo's repeat returns its arguments, including keyword arguments."""
    args = ValueList(values=[integer(1), text("two")])
    session = context.make("Echo")
    answer = session.ask("call_method", name="repeat", args=args, kwargs=entries(three=integer(3)))
    result = answer.of("call_method").result.dict
    expect_equal(look_up(result, "args").tuple, args, "the arguments")
    expect_equal(look_up(result, "kwargs").dict, entries(three=integer(3)), "those with names")


@check("DRIVE-20", profile="attributes")
def a_new_attribute_is_forced(context: CheckContext) -> None:
    """A missing attribute is set only with `force`."""
    session = context.start()
    unforced = session.ask("set_attribute", name="colour", value=text("red"))
    expect(unforced.kind == "error" or not unforced.response.set_attribute.set, "it not to be set")
    session.ask("set_attribute", name="colour", value=text("red"), force=True).of("set_attribute")
    answer = session.ask("get_attribute", name="colour").of("get_attribute")
    expect_equal(answer.value, text("red"), "the value")


_BAD_NAMES = {
    "dunder": "__class__",
    "dotted": "np_random.bit_generator",
    "empty": "",
    "blank": "a b",
    "init": "__init__",
}


@cases(_BAD_NAMES, "DRIVE-16", profile="attributes")
def a_name_that_may_not_be_is_refused(context: CheckContext, name: str) -> None:
    """A name has to be an identifier without two leading underscores; any other name is refused."""
    session = context.start()
    for kind in ("get_attribute", "call_method"):
        answer = session.ask(kind, name=name)
        answer.refused(
            Reason.ATTRIBUTE_NOT_ALLOWED,
            Reason.ATTRIBUTE_MISSING,
            Reason.MALFORMED_REQUEST,
            Reason.INVALID_VALUE,
        )
    session.step(0)


@check("ERROR-4", profile="attributes")
def a_method_that_raises_answers_so(context: CheckContext) -> None:
    """Calling a method with wrong arguments fails with ENVIRONMENT_RAISED, and the session goes on."""
    session = context.start()
    session.ask("call_method", name="add").refused(Reason.ENVIRONMENT_RAISED)
    session.step(0)
