"""Moves large arrays between a message and its attachments, for transports without attachments.

A server inlines the arrays: they are large and the message is small, so the message is split at its tensors and the
arrays are not copied. The result is a list of pieces to send one after another.

A client extracts the arrays of answers to Reset and Render before protobuf parses the rest. Protobuf copies the
elements of an array several times; extracted, they are copied once, into the memory that becomes the array, and are
then read like attachments. Answers to Step on a stream are left whole: the fast path copies an array once as well, and
extracting it first made reading 1.6 to 3.6 times slower. The answer of a unary call has to be wrapped, which copies
what is in it, so there large arrays are extracted: 12 MB are read in a fifth of the time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError

from envwire.codec.errors.faults import CodecError
from envwire.codec.values.tensors import byte_length
from envwire.v1 import environment_pb2, values_pb2
from envwire.wire.envelope import RESPONSES
from envwire.wire.frames import ALIGNMENT, ATTACHED_FROM, Area, Attachments, Packet, Reply
from envwire.wire.varints import LENGTH_DELIMITED, fields, tag, varint

_RESPONSE: Final = environment_pb2.InteractResponse.DESCRIPTOR
_TENSOR: Final = values_pb2.Tensor.DESCRIPTOR
_DATA: Final = tag(values_pb2.Tensor, "data")
#: Longest message that is cached: longer ones hold more than arrays, and rarely equal an earlier one.
_REMEMBERED_TO: Final = 512


class Gap(NamedTuple):
    """A gap in a message for elements that are attached.

    Attributes:
        offset: Their offset among the attachments.
        length: Their size, in bytes.
    """

    offset: int
    length: int


Part: TypeAlias = "bytes | Gap"


def inline_arrays(packet: Packet) -> Packet:
    """Returns the packet of an InteractResponse with all its arrays in the message."""
    return Packet(b"".join(pieces(packet)))


def pieces(packet: Packet) -> list[bytes | memoryview]:
    """Returns the message of an InteractResponse with all its arrays in it, in pieces.

    The arrays are not copied, so they must not change until the pieces are sent.
    """
    message, attachments = packet.message, packet.attachments
    if attachments is not None and attachments.arrays is not None:
        message = attachments.arrays.answer_in_host_memory(message, own=True)
    if attachments is None or not attachments.length:
        return [message]
    arrays = _by_offset(attachments)
    parts = _parts(_RESPONSE, message, len(arrays))
    return [arrays[part.offset] if isinstance(part, Gap) else part for part in parts]


def _by_offset(attachments: Attachments) -> dict[int, memoryview]:
    arrays: dict[int, memoryview] = {}
    offset = 0
    for buffer in attachments.buffers:
        if isinstance(buffer, memoryview):  # padding is not
            arrays[offset] = buffer
        offset += len(buffer)
    return arrays


def _spread(kind: Any, raw: bytes, wanted: int) -> tuple[Part, ...]:
    """Splits a message into parts, with gaps for attached elements.

    Args:
        kind: Its descriptor.
        raw: The message.
        wanted: Number of gaps to find; everything after the last stays one part.
    """
    if kind is _TENSOR:
        return _spread_tensor(raw)
    parts: list[Part] = []
    done = 0
    for key, begin, start, end in fields(raw):
        child = kind.fields_by_number[key >> 3].message_type
        if child is None:
            continue
        inner = _parts(child, raw[start:end], wanted)
        if gaps := sum(isinstance(part, Gap) for part in inner):
            parts += (raw[done:begin] + varint(key) + varint(_length(inner)), *inner)
            done = end
            wanted -= gaps
            if not wanted:
                break
    return (*parts, raw[done:]) if parts else (raw,)


#: Successive messages mostly differ in the attached elements only, so their parts are often in the cache.
_remembered: Final = lru_cache(maxsize=256)(_spread)


def _parts(kind: Any, raw: bytes, wanted: int) -> tuple[Part, ...]:
    return (_remembered if len(raw) <= _REMEMBERED_TO else _spread)(kind, raw, wanted)


def _spread_tensor(raw: bytes) -> tuple[Part, ...]:
    tensor = values_pb2.Tensor.FromString(raw)
    if not tensor.HasField("attachment_offset"):
        return (raw,)
    gap = Gap(tensor.attachment_offset, byte_length(tensor))
    tensor.ClearField("attachment_offset")
    return tensor.SerializeToString() + _DATA + varint(gap.length), gap


def _length(parts: tuple[Part, ...]) -> int:
    return sum(part.length if isinstance(part, Gap) else len(part) for part in parts)


EXTRACTED_FROM: Final = 1 << 18
"""Smallest message, in bytes, whose arrays are extracted; smaller ones are read faster whole.

At 270 KB there is little difference. A rendered frame of 720 KB took 29 us instead of 43, and 60 us instead
of 1,100 in a process whose allocator returned the memory of such messages to the system each time.
"""

#: The same for an answer to Step that has to be wrapped: at 300 KB it took twice as long, at 1 MB as long.
_STEP_EXTRACTED_FROM: Final = 1 << 20

#: The fields in which large arrays are looked for; everything else stays in the message.
_FIELDS: Final = {
    _RESPONSE: frozenset({"reset", "render"}),
    environment_pb2.ResetResponse.DESCRIPTOR: frozenset({"observation"}),
    environment_pb2.RenderResponse.DESCRIPTOR: frozenset({"frame"}),
    environment_pb2.StepResponse.DESCRIPTOR: frozenset({"observation"}),
}

_Spans: TypeAlias = "list[tuple[int, int, int]]"
"""For each array: offset of its elements among the attachments, and their start and end in the message."""


def extract_arrays(message: bytes, kind: str = "") -> Reply:
    """Returns an InteractResponse without its large arrays, and those arrays as attachments.

    A message that is small, has no such arrays or cannot be parsed is returned unchanged.

    Args:
        message: An InteractResponse, or the response in it.
        kind: Kind of the response; "" if `message` is a whole InteractResponse.
    """
    spans: _Spans = []
    least = _STEP_EXTRACTED_FROM if kind == "step" else EXTRACTED_FROM
    rest = _taken_apart(message, kind, spans) if len(message) >= least else message
    area = _gathered(message, spans) if spans else None
    return Reply(RESPONSES.wrap(kind, rest) if kind else rest, area)


def _taken_apart(message: bytes, kind: str, spans: _Spans) -> bytes:
    descriptor = _RESPONSE.fields_by_name[kind].message_type if kind else _RESPONSE
    if descriptor not in _FIELDS:
        return message
    try:
        return _without(descriptor, message, 0, len(message), spans)
    except (ValueError, LookupError, DecodeError, CodecError):
        spans.clear()
        return message  # parsing it will report what is wrong


def _gathered(message: bytes, spans: _Spans) -> Area:
    offset, start, end = spans[-1]
    area = np.empty(offset + end - start, np.uint8)
    for offset, start, end in spans:
        area[offset : offset + end - start] = np.frombuffer(message, np.uint8, end - start, start)
    return area


def _without(kind: Any, raw: bytes, start: int, end: int, spans: _Spans) -> bytes:
    """Returns a message without the elements of its large tensors.

    Args:
        kind: Its descriptor.
        raw: Bytes that contain the message.
        start: Index of its first byte.
        end: Index after its last byte.
        spans: Receives the positions of the elements.
    """
    parts: list[bytes] = []
    done = start
    for key, begin, first, last in fields(raw, start, end):
        field = kind.fields_by_number.get(key >> 3)
        child = field and field.message_type
        if child is None or key & 7 != LENGTH_DELIMITED or last - first < ATTACHED_FROM:
            continue
        if kind not in _FIELDS or field.name in _FIELDS[kind]:
            inner = (_tensor if child is _TENSOR else _without)(child, raw, first, last, spans)
            parts += (raw[done:begin], varint(key), varint(len(inner)), inner)
            done = last
    return b"".join((*parts, raw[done:end]))


def _tensor(_: Any, raw: bytes, start: int, end: int, spans: _Spans) -> bytes:
    """Returns a tensor without its elements and notes their span, if they are in their usual place."""
    data = next((each for each in fields(raw, start, end) if each[0] == _DATA[0]), None)
    if data is None:
        return raw[start:end]
    _, begin, first, last = data
    tensor = values_pb2.Tensor.FromString(raw[start:begin] + raw[last:end])
    odd = tensor.fill or tensor.data or tensor.HasField("attachment_offset")
    if odd or last - first < ATTACHED_FROM or byte_length(tensor) != last - first:
        return raw[start:end]
    tensor.attachment_offset = _next_offset(spans)
    spans.append((tensor.attachment_offset, first, last))
    return tensor.SerializeToString()


def _next_offset(spans: _Spans) -> int:
    if not spans:
        return 0
    offset, start, end = spans[-1]
    return -(-(offset + end - start) // ALIGNMENT) * ALIGNMENT
