"""Errors: status, reason, and details."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw.values import counted, entries, integer, text
from envwire.conformance.suite import CheckContext, Level, cases, check
from envwire.conformance.suite.checks import ALL
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2

_RAISED = ("ValueError", "KeyError", "RuntimeError", "ZeroDivisionError")


@cases({name: name for name in _RAISED}, "ERROR-1 ERROR-3 ERROR-4", over=ALL)
def an_exception_travels(context: CheckContext, name: str) -> None:
    """ENVIRONMENT_RAISED holds the exception's class, text and arguments; the session goes on."""
    session = context.start("Raise")
    answer = session.ask("step", action=text(name))
    answer.refused(Reason.ENVIRONMENT_RAISED)
    raised = answer.details(status_pb2.RemoteException)
    expect_equal(len(raised), 1, "the number of RemoteExceptions")
    expect(raised[0].type_name.endswith(name), f"a type_name that ends with {name}")
    expect("asked for it" in raised[0].text, "its text")
    expect_equal(list(raised[0].args.values), [text("asked for it"), integer(7)], "its arguments")
    session.step(text("nothing"))


@check("ERROR-4", level=Level.RECOMMENDED)
def a_traceback_travels(context: CheckContext) -> None:
    """DebugInfo holds the traceback."""
    session = context.start("Raise")
    answer = session.ask("step", action=text("ValueError"))
    info = answer.details(status_pb2.DebugInfo)
    expect(
        info and any("step" in line.casefold() for line in info[0].stack_entries),
        "a line about step",
    )


@check("ERROR-1 STATE-5", over=ALL)
def a_reset_that_raises_leaves_the_state(context: CheckContext) -> None:
    """After a reset that raises, the next reset succeeds."""
    session = context.make("Raise")
    answer = session.ask("reset", options=entries(**{"raise": text("ValueError")}))
    answer.refused(Reason.ENVIRONMENT_RAISED)
    session.reset(1)
    session.step(text("nothing"))


@check("ERROR-5 ERROR-9", over=ALL)
def an_error_has_one_error_info(context: CheckContext) -> None:
    """Each refusal has exactly one ErrorInfo, with domain "envwire", and a text."""
    session = context.make()
    answer = session.peek("reset", 9)
    expect_equal(len(answer.details(status_pb2.ErrorInfo)), 1, "the number of ErrorInfos")
    expect(answer.response.error.message, "a message")
    expect_equal(answer.info.domain, "envwire", "the domain")


@check("ERROR-2")
def an_error_fits_into_metadata(context: CheckContext) -> None:
    """A status has at most 4.6 KB, however long the environment's message."""
    session = context.start("Echo")
    answer = session.ask("call_method", name="x" * 100_000)
    expect_equal(answer.kind, "error", "the answer")
    size = answer.response.error.ByteSize()
    expect(size <= 4710, f"at most 4.6 KB, not {size} bytes")


@check("SESSION-2 END-12 STATE-2 ERROR-4")
def a_crash_ends_one_session(context: CheckContext) -> None:
    """A session whose process died is answered with SESSION_LOST; other sessions live on."""
    session, neighbour = context.start("Crash"), context.start()
    session.ask("step", action=integer(1)).refused(Reason.SESSION_LOST)
    session.ask("reset").refused(Reason.SESSION_LOST)
    neighbour.step(1)


@check("ERROR-4", level=Level.RECOMMENDED)
def the_last_words_of_a_process_travel(context: CheckContext) -> None:
    """DebugInfo holds the last output of a lost process."""
    session = context.start("Crash")
    answer = session.ask("step", action=integer(1))
    answer.refused(Reason.SESSION_LOST)
    info = answer.details(status_pb2.DebugInfo)
    expect(info and "leaving" in info[0].detail, "DebugInfo.detail with 'leaving'")


#: Largest message that a check asks for, in bytes.
_MAX_BYTES = 64 * 1024 * 1024


def _limit(context: CheckContext) -> int:
    """Returns the server's limit for messages.

    Raises:
        SkippedError: It has no limit, or one that is too large to test.
    """
    limit = context.info.max_message_bytes
    if not 0 < limit <= _MAX_BYTES:
        raise SkippedError("max_message_bytes is above 64 MiB; run the server with less")
    return limit


@check("LIMIT-2 BOUND-3 ERROR-12", over=ALL)
def an_answer_that_is_too_large_is_replaced(context: CheckContext) -> None:
    """An answer that is too large is replaced by MESSAGE_TOO_LARGE, and the session goes on."""
    limit = _limit(context)
    session = context.start("Big")
    session.ask("step", action=integer(limit + 1)).refused(Reason.MESSAGE_TOO_LARGE)
    session.step(100)


@check("LIMIT-3", over=ALL)
def a_large_answer_comes_whole(context: CheckContext) -> None:
    """An array of 8 MB arrives unchanged."""
    session = context.start("Big")
    answer = session.ask("step", action=integer(8_000_000))
    if answer.info.reason == Reason.MESSAGE_TOO_LARGE.name:
        raise SkippedError("the server takes no messages of 8 MB")
    tensor = answer.of("step").observation.array
    data = answer.attachments[tensor.attachment_offset :] if answer.attachments else tensor.data
    expect(bytes(data[:8_000_000]) == counted(8_000_000), "its elements")


@check("LIMIT-1")
def a_request_that_is_too_large_is_refused(context: CheckContext) -> None:
    """A request that is too large is refused by gRPC with RESOURCE_EXHAUSTED, and the session goes on."""
    limit = _limit(context)
    session = context.start("Echo")
    answer = session.peek("step", 2, action=text("x" * (limit + 1)))
    expect_equal(answer.response.error.code, 8, "the status code")
    session.step(1)


@check("LIMIT-6", level=Level.RECOMMENDED)
def few_requests_of_a_session_may_wait(context: CheckContext) -> None:
    """Of hundreds of calls at once, each is served, or refused for its number; none is lost."""
    session = context.start()
    step = session.request("step", action=integer(1), header=session.header)
    futures = [context.unary.begin(step, context.seconds) for _ in range(200)]
    answers = [context.unary.await_answer("step", future) for future in futures]
    expect(any(answer.kind == "step" for answer in answers), "an answer")
    for answer in answers:
        if answer.kind == "error":
            answer.refused(
                Reason.CAPACITY_REACHED, Reason.CLIENT_LIMIT_REACHED, Reason.RATE_LIMITED
            )


@check("ERROR-6 ERROR-7")
def an_error_is_googles(context: CheckContext) -> None:
    """Details have the type URLs and fields of google.rpc's messages."""
    answer = context.ask("make", env_id="Conformance/NoSuchEnvironment-v0")
    answer.refused(Reason.UNKNOWN_ENVIRONMENT)
    named = {detail.type_url.rpartition("/")[2]: detail for detail in answer.response.error.details}
    google = _google_error_info()
    expect(google.DESCRIPTOR.full_name in named, f"google.rpc.ErrorInfo among {sorted(named)}")
    expect(not any(one.Is(status_pb2.ErrorInfo.DESCRIPTOR) for one in named.values()), "no other")
    found = google()
    expect(named[google.DESCRIPTOR.full_name].Unpack(found), "what unpacks as google.rpc.ErrorInfo")
    expect_equal(found.reason, Reason.UNKNOWN_ENVIRONMENT.value, "the reason that it has there")


def _google_error_info() -> type[Any]:
    """Returns google.rpc.ErrorInfo as a client has it that uses google.rpc's own files."""
    file = descriptor_pb2.FileDescriptorProto(name="error_details.proto", package="google.rpc")
    message = file.message_type.add(name="ErrorInfo")
    for number, name in enumerate(("reason", "domain"), 1):
        message.field.add(name=name, number=number, type="TYPE_STRING", label="LABEL_OPTIONAL")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("google.rpc.ErrorInfo"))


#: A field of 2 MiB that no message has: number 1000, whose length is a varint of four bytes.
_PADDING = b"\xc2\x3e\x80\x80\x80\x01" + bytes(2**21)


@check("LIMIT-12")
def a_large_make_is_served_or_too_large(context: CheckContext) -> None:
    """A Make of 2 MiB, and a reset with 2 MiB before its header, are served or refused as too large."""
    session = context.make()
    make = context.make_request().SerializeToString()
    made = context.unary.exchange_bytes("make", _PADDING + make, context.seconds)
    if made.kind == "error":
        made.refused(Reason.MESSAGE_TOO_LARGE)
    else:
        context.made(made)
    header = pb.ResetRequest(header=session.header, sequence=1).SerializeToString()
    reset = context.unary.exchange_bytes("reset", _PADDING + header, context.seconds)
    if reset.kind == "error":
        reset.refused(Reason.MESSAGE_TOO_LARGE)
    else:
        session.number += 1
    session.reset(1)
