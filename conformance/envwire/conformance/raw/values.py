"""Builds values as messages."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from google.protobuf import text_format

from envwire.v1 import values_pb2 as pb
from envwire.v1.values_pb2 import Value

#: A field that no message has: number 1000, a string.
UNKNOWN_FIELD = b"\xc2\x3e\x03new"


def integer(number: int) -> Value:
    """Returns a 64-bit integer."""
    return Value(int_value=number)


def text(content: str) -> Value:
    """Returns a string."""
    return Value(string_value=content)


def parsed(source: str) -> Value:
    """Returns a value from protobuf's text format, which docs/protocol.md uses."""
    return text_format.Parse(source, Value())


def entries(**values: Value) -> pb.ValueMap:
    """Returns a ValueMap with string keys."""
    return pb.ValueMap(
        entries=[pb.ValueEntry(name=name, value=value) for name, value in values.items()]
    )


def dictionary(**values: Value) -> Value:
    """Returns a dictionary with string keys."""
    return Value(dict=entries(**values))


def sequence(*values: Value) -> Value:
    """Returns a list."""
    return Value(list=pb.ValueList(values=values))


def look_up(found: pb.ValueMap, name: str) -> Value:
    """Returns the value of a key; a value without a kind if the key is missing."""
    return next((entry.value for entry in found.entries if entry.name == name), Value())


def int64s(value: Value) -> list[int]:
    """Returns the elements of an INT64 array; an empty list for any other value."""
    if value.array.data_type != pb.DATA_TYPE_INT64:
        return []
    data = value.array.data
    return [number for (number,) in struct.iter_unpack("<q", data)]


def tensor(data_type: Any, shape: Sequence[int], data: bytes, **fields: Any) -> pb.Tensor:
    """Returns a tensor."""
    return pb.Tensor(data_type=data_type, shape=shape, data=data, **fields)


def array(data_type: Any, shape: Sequence[int], data: bytes, **fields: Any) -> Value:
    """Returns an array."""
    return Value(array=tensor(data_type, shape, data, **fields))


def counted(size: int) -> bytes:
    """Returns the elements of an observation of Big."""
    return (bytes(range(251)) * (size // 251 + 1))[:size]
