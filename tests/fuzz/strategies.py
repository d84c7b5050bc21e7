"""The inputs: well-formed messages without meaning, and malformed bytes."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

_DEPTH = 4
_INTERESTING = (0, 1, -1, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63), 2**64 - 1)
_WORDS = (
    "CartPole-v1",
    "float64",
    "PCG64",
    "a",
    "steps",
    "observation",
    "1/0",
    "\x00",
    "ä\U0001f600",
)


def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    interesting = [number for number in _INTERESTING if low <= number <= high]
    return st.sampled_from(interesting) | st.integers(0, 16) | st.integers(low, high)


_SCALARS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.CPPTYPE_INT32: _integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: _integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: _integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: _integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
}


def _scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        known = st.sampled_from([value.number for value in field.enum_type.values])
        return known | st.integers(0, 2**31 - 1)
    if field.cpp_type != FieldDescriptor.CPPTYPE_STRING:
        return _SCALARS[field.cpp_type]
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.binary(max_size=64) | st.integers(0, 64).map(bytes)
    return st.sampled_from(_WORDS) | st.text(max_size=12)


@cache
def _fields_of(descriptor: Descriptor) -> tuple[FieldDescriptor, ...]:
    return tuple(descriptor.fields)


@st.composite
def messages(draw: st.DrawFn, descriptor: Descriptor, depth: int = _DEPTH) -> Message:
    """Draws a message of a type: some of its fields, filled with anything that they may hold."""
    message: Message = GetMessageClass(descriptor)()
    fields = _fields_of(descriptor)
    if not fields:
        return message
    for field in draw(st.lists(st.sampled_from(fields), max_size=4, unique_by=lambda f: f.number)):
        _fill(draw, message, field, depth)
    return message


def _fill(draw: st.DrawFn, message: Message, field: FieldDescriptor, depth: int) -> None:
    name = field.name
    if field.message_type is None:
        value = draw(_scalar(field))
        if field.is_repeated:
            getattr(message, name).extend([value] * draw(st.integers(0, 3)))
        else:
            setattr(message, name, value)
    elif depth and field.is_repeated:
        for _ in range(draw(st.integers(0, 3))):
            getattr(message, name).append(draw(messages(field.message_type, depth - 1)))
    elif depth:
        getattr(message, name).CopyFrom(draw(messages(field.message_type, depth - 1)))


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Draws bytes and breaks some of them: changed, cut out, doubled, put in."""
    data = bytearray(draw(whole))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 8)))
        data[start:end] = draw(st.binary(max_size=8) | st.just(bytes(data[start:end]) * 2))
    return bytes(data)


def attacks(message: type[Message]) -> st.SearchStrategy[bytes]:
    """Returns the inputs for a place where a message of a type is expected."""
    sound = messages(cast("Descriptor", message.DESCRIPTOR)).map(
        lambda each: each.SerializeToString()
    )
    return sound | damaged(sound) | st.binary(max_size=256)
