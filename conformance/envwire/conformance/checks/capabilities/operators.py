"""What operators decide: lists of a public address, limits of one client, recordings, withdrawn tokens."""

from __future__ import annotations

import shlex
import subprocess
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from envwire.codec import Reason
from envwire.conformance.outcomes import FailedError, SkippedError, expect, expect_equal
from envwire.conformance.raw import Answer, Grpc, UnaryLink
from envwire.conformance.raw.values import entries, integer, text
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.v1.values_pb2 import Value, ValueMap

_T = TypeVar("_T")
#: The longest time to wait for another Make that a check waits for, in seconds.
_PATIENCE = 30.0


def _needed(setting: _T, name: str) -> _T:
    """Returns what the configuration says of the operator."""
    if not setting:
        raise SkippedError(f"the configuration's [operator] has no {name}")
    return setting


_REFUSED = {
    "name": entries(starts=text("thread")),
    "value": entries(seconds=Value(float_value=2.0)),
    "type": entries(seconds=text("0.5")),
}


@cases(_REFUSED, "SESSION-9", profile="operator")
def an_argument_that_is_not_listed_is_refused(context: CheckContext, kwargs: ValueMap) -> None:
    """A keyword argument passes with the values that the operator listed; any other is KWARGS_NOT_ALLOWED."""
    _needed(context.access.operator.lists, "lists")
    context.make("Odd", kwargs=entries(seconds=Value(float_value=0.5)))
    context.ask_make("Odd", kwargs=kwargs).refused(Reason.KWARGS_NOT_ALLOWED)


@check("DRIVE-18", profile="operator")
def an_attribute_that_is_not_listed_is_refused(context: CheckContext) -> None:
    """A listed attribute is read and set; another, or a method, is ATTRIBUTE_NOT_ALLOWED, and the session goes on."""
    _needed(context.access.operator.lists, "lists")
    session = context.start()
    session.ask("set_attribute", name="length", value=integer(5)).of("set_attribute")
    answer = session.ask("get_attribute", name="length").of("get_attribute")
    expect_equal(answer.value, integer(5), "length")
    for refused in (
        session.ask("get_attribute", name="sum"),
        session.ask("set_attribute", name="sum", value=integer(9)),
        session.ask("call_method", name="add"),
    ):
        refused.refused(Reason.ATTRIBUTE_NOT_ALLOWED)
    session.step(1)


@check("LIMIT-5", profile="operator")
def a_client_holds_so_many_sessions(context: CheckContext) -> None:
    """One session more than a client may hold is CLIENT_LIMIT_REACHED; when one was closed there is room."""
    most = _needed(context.access.operator.sessions_per_client, "sessions_per_client")
    held = [context.make() for _ in range(most)]
    context.ask_make().refused(Reason.CLIENT_LIMIT_REACHED)
    held[0].close().of("close")
    context.make()


@check("SESSION-36", profile="operator")
def a_recording_is_named_and_written(context: CheckContext) -> None:
    """Make names the recording; a file of that name holds what was asked, without the session's header."""
    directory = Path(_needed(context.access.operator.recordings, "recordings"))
    session = context.make("Echo")
    name = session.made.recording
    expect(name, "the name of a recording")
    session.reset()
    session.step(text("to be recorded"))
    session.close().of("close")
    written = list(directory.glob(f"{name}*"))
    expect_equal(len(written), 1, f"the number of files {name}*")
    content = written[0].read_bytes()
    expect(b"to be recorded" in content, "the action in the recording")
    for what, secret in (("id", session.made.session_id.encode()), ("secret", session.made.secret)):
        expect(secret not in content, f"no {what} of the session in the recording")


@check("BOUND-6", over=("direct",), profile="operator")
def a_withdrawn_token_ends_its_sessions(context: CheckContext) -> None:
    """When a token is withdrawn its session and channel end; others go on."""
    operator = context.access.operator
    command = _needed(operator.withdraw, "withdraw")
    token = _needed(operator.withdrawn_token, "withdrawn_token")
    kept = context.start()
    with closing(Grpc(replace(context.access, token=token), context.trace)) as channel:
        theirs = UnaryLink(channel)
        make = pb.InteractRequest(make=context.make_request())
        session = context.attach(context.made(theirs.exchange(make, context.seconds)), theirs)
        direct = context.direct(session.made)
        session.link = direct
        session.reset(1)
        subprocess.run(shlex.split(command), check=True, timeout=context.seconds)  # noqa: S603 - the user's own
        expect(direct.ended(context.seconds), "the end of the channel")
        session.link = context.unary  # with the token that is still good, and the session's secret
        session.ask("step", action=integer(1)).refused(Reason.SESSION_CLOSED)
        kept.step(1)


@check("LIMIT-5", profile="operator")
def a_client_makes_so_many_in_a_minute(context: CheckContext) -> None:
    """One Make more than a client may ask for in a minute is RATE_LIMITED; after the named time one is served."""
    most = _needed(context.access.operator.makes_per_minute, "makes_per_minute")
    answers = (_made_and_closed(context) for _ in range(2 * most))
    refused = next((one for one in answers if one.kind == "error"), None)
    if refused is None:
        raise FailedError(f"RATE_LIMITED within {2 * most} Make")
    refused.refused(Reason.RATE_LIMITED)
    waits: list[status_pb2.RetryInfo] = refused.details(status_pb2.RetryInfo)
    expect(waits, "the time to wait, as RetryInfo")
    wait = waits[0].retry_delay.ToTimedelta().total_seconds()
    expect(
        0 < wait <= _PATIENCE, f"a wait above zero and of at most {_PATIENCE:g} s, not {wait:g} s"
    )
    time.sleep(wait)
    context.make()


def _made_and_closed(context: CheckContext) -> Answer:
    answer = context.ask_make()
    if answer.kind == "make":
        context.attach(answer.response.make, context.unary).close()
    return answer
