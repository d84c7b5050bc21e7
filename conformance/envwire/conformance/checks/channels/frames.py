"""Frames, attachments, and their limits."""

from __future__ import annotations

import math
import time

from envwire.codec import Reason
from envwire.conformance.outcomes import SkippedError, expect, expect_equal
from envwire.conformance.raw import Answer
from envwire.conformance.raw.direct_link import HEADER, frame
from envwire.conformance.raw.values import counted, int64s, integer, sequence
from envwire.conformance.suite import CheckContext, cases, check
from envwire.v1.values_pb2 import Tensor

_DIRECT = ("direct",)
#: Bytes of an answer that no kernel buffers, and a pause that is longer than the allowed one, in seconds.
_MUCH, _PAUSE = 12_000_000, 33.0
_SIZES = {str(size): size for size in (0, 1, 4095, 4096, 4097, 65_535, 65_536, 1_000_000)}


def elements(answer: Answer, tensor: Tensor) -> bytes:
    """Returns the elements of a UINT8 tensor of an answer, wherever they are."""
    count = math.prod(tensor.shape)
    if not tensor.HasField("attachment_offset"):
        return tensor.data * count if tensor.fill else tensor.data
    expect(not tensor.data and not tensor.fill, "neither data nor fill beside attachment_offset")
    offset = tensor.attachment_offset
    expect_equal(offset % 64, 0, "attachment_offset modulo 64")
    expect(offset + count <= len(answer.attachments), "elements inside of the attachments")
    return answer.attachments[offset : offset + count]


@cases(_SIZES, "FRAME-1 FRAME-2 FRAME-5 FRAME-6 FRAME-8 FRAME-9", over=_DIRECT)
def an_array_of_any_size_comes_whole(context: CheckContext, size: int) -> None:
    """All elements arrive, in the message or attached at a multiple of 64."""
    session = context.start("Big")
    answer = session.ask("step", action=integer(size))
    tensor = answer.of("step").observation.array
    expect_equal(list(tensor.shape), [size], "the shape")
    expect(elements(answer, tensor) == counted(size), "the elements that the environment returned")


@check("FRAME-6 FRAME-7", over=_DIRECT)
def several_arrays_come_whole(context: CheckContext) -> None:
    """Attached arrays follow one another, with zeros in between."""
    session = context.start("Big")
    sizes = (5000, 10, 4097, 9999)
    answer = session.ask("step", action=sequence(*map(integer, sizes)))
    values = answer.of("step").observation.tuple.values
    for size, value in zip(sizes, values, strict=True):
        expect(elements(answer, value.array) == counted(size), f"the {size} elements")
    between = bytearray(answer.attachments)
    for value in values:
        if value.array.HasField("attachment_offset"):
            offset, count = value.array.attachment_offset, math.prod(value.array.shape)
            between[offset : offset + count] = bytes(count)
    expect(not any(between), "zeros between the arrays")


@check("FRAME-11 OPEN-8", over=_DIRECT)
def a_kept_answer_is_whole_over_grpc(context: CheckContext) -> None:
    """If a request is repeated as a unary call, `data` holds the elements that were attached."""
    session = context.start("Big")
    step = session.request("step", action=integer(10_000))
    session.send(step).of("step")
    tensor = session.send(step, context.unary).of("step").observation.array
    expect(not tensor.HasField("attachment_offset"), "no attachment_offset over gRPC")
    expect(tensor.data == counted(10_000), "the elements that the environment returned")


@check("SEQUENCE-4 FRAME-6", over=_DIRECT)
def a_kept_answer_is_whole_here(context: CheckContext) -> None:
    """A request repeated on this channel, and on the next, gets the same elements."""
    session = context.start("Big")
    step = session.request("step", action=integer(10_000))
    session.send(step)
    for _ in range(2):
        answer = session.send(step)
        found = elements(answer, answer.of("step").observation.array)
        expect(found == counted(10_000), "the same elements")
        session.link = context.direct(session.made)


_ANNOUNCED = {
    "too-much": HEADER.pack(2**32 - 1, 0, 0),
    "attachments": HEADER.pack(4, 0, 64),
    "slot": HEADER.pack(4, 1, 0),
    "slot-and-attachments": HEADER.pack(4, 1, 2**63),
}


@cases(_ANNOUNCED, "BOUND-1 BOUND-2 FRAME-3", over=_DIRECT)
def a_frame_that_may_not_be_ends_the_channel(context: CheckContext, header: bytes) -> None:
    """A frame with excessive lengths, with attachments or with a slot ends the channel; the session lives on."""
    session = context.start()
    link = session.direct
    link.send_bytes(header)
    expect(link.ended(context.seconds), "the end of the channel")
    session.link = context.direct(session.made)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


@check("BOUND-4 SEQUENCE-9", over=_DIRECT)
def who_does_not_read_loses_the_channel(context: CheckContext) -> None:
    """The channel of a client that reads nothing for 30 s inside an answer is closed; the session keeps the answer."""
    if context.info.max_message_bytes < _MUCH + 2**20:
        raise SkippedError("max_message_bytes is below 13 MB")
    session = context.start("Big")
    step = session.request("step", action=integer(_MUCH))
    session.direct.send(step)
    expect(session.direct.readable(context.seconds), "the beginning of the answer")
    time.sleep(_PAUSE)
    expect(not session.direct.answers_in_frames(), "the end of the channel inside the answer")
    kept = session.send(step, context.unary).of("step").observation.array
    expect(kept.data == counted(_MUCH), "the kept answer over gRPC")


@check("SEQUENCE-9 FRAME-4", over=_DIRECT)
def half_a_frame_does_nothing(context: CheckContext) -> None:
    """A request whose channel ends in the middle of its frame is not served."""
    session = context.start()
    step = session.request("step", action=integer(1))
    whole = frame(step)
    for cut in (1, 15, 16, len(whole) - 1):
        session.direct.send_bytes(whole[:cut])
        session.link.close()
        session.link = context.direct(session.made)
    expect_equal(int64s(session.step(1).observation), [1, 1], "the observation of the first step")


@check("SEQUENCE-5 SEQUENCE-9", over=_DIRECT)
def duplicates_on_the_channel_are_one_step(context: CheckContext) -> None:
    """A step sent three times at once is taken once, and answered three times."""
    session = context.start()
    step = session.request("step", action=integer(1))
    session.direct.send_bytes(frame(step) * 3)
    counts = [int64s(session.direct.receive().of("step").observation) for _ in range(3)]
    expect_equal(counts, [[1, 1]] * 3, "steps and sums")


@check("SEQUENCE-5 SEQUENCE-8", over=_DIRECT)
def reordered_frames_are_refused(context: CheckContext) -> None:
    """Of two steps in the wrong order, the first to arrive is refused and the other is served."""
    session = context.start()
    steps = [session.request("step", number, action=integer(1)) for number in (3, 2)]
    session.direct.send_bytes(b"".join(map(frame, steps)))
    session.direct.receive().refused(Reason.SEQUENCE_GAP)
    answer = session.direct.receive().of("step")
    expect_equal(int64s(answer.observation), [1, 1], "steps and sum")
