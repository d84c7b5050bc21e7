"""Values as messages, built by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from google.protobuf import text_format

from envwire.v1 import values_pb2 as pb
from envwire.v1.values_pb2 import Value


def integer(number: int) -> Value:
    """Returns an integer of 64 bits."""
    return Value(int_value=number)


def text(content: str) -> Value:
    """Returns a text."""
    return Value(string_value=content)


def parsed(source: str) -> Value:
    """Returns a value from protobuf's text format, as docs/protocol.md shows them."""
    return text_format.Parse(source, Value())


def entries(**values: Value) -> pb.ValueMap:
    """Returns a map from names to values."""
    return pb.ValueMap(
        entries=[pb.ValueEntry(name=name, value=value) for name, value in values.items()]
    )


def dictionary(**values: Value) -> Value:
    """Returns a dictionary with texts as keys."""
    return Value(dict=entries(**values))


def sequence(*values: Value) -> Value:
    """Returns a list."""
    return Value(list=pb.ValueList(values=values))


def look_up(found: pb.ValueMap, name: str) -> Value:
    """Returns the value at a name; one without a kind when it is not there."""
    return next((entry.value for entry in found.entries if entry.name == name), Value())


def int64s(value: Value) -> list[int]:
    """Returns the elements of an INT64 array; none of any other value."""
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
