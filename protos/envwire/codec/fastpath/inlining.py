"""Moves attachments back into their message, for transports without attachments.

The arrays are large and the message is small. So the message is split at its tensors and the arrays are not copied: the
result is a list of pieces to send one after another.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from envwire.codec.values.tensors import byte_length
from envwire.v1 import environment_pb2, values_pb2
from envwire.wire.frames import Attachments, Packet
from envwire.wire.varints import fields, tag, varint

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


def inlined(packet: Packet) -> Packet:
    """Returns the packet of an InteractResponse with all its arrays in the message."""
    return Packet(b"".join(pieces(packet)))


def pieces(packet: Packet) -> list[bytes | memoryview]:
    """Returns the message of an InteractResponse with all its arrays in it, in pieces.

    The arrays are not copied, so they must not change until the pieces are sent.
    """
    attachments = packet.attachments
    if attachments is None or not attachments.length:
        return [packet.message]
    arrays = _by_offset(attachments)
    parts = _parts(_RESPONSE, packet.message, len(arrays))
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
