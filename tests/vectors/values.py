"""Vectors of values: every kind, every type of tensor, and unusual bytes that a reader has to accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from envwire.codec import encode_value
from envwire.conformance.checks.core.values import KINDS
from envwire.conformance.raw.values import parsed
from envwire.v1.values_pb2 import Value
from tests.vectors.vector import UNKNOWN_FIELD, described

#: Two elements of each type.
TYPES = {
    "bool": [False, True],
    **{f"int{bits}": [-1, 2 ** (bits - 1) - 1] for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": [1, 2**bits - 1] for bits in (8, 16, 32, 64)},
    **{f"float{bits}": [0.5, -np.inf] for bits in (16, 32, 64)},
    **{f"complex{bits}": [1 + 2j, -0.5j] for bits in (64, 128)},
}


def encoded(value: Any) -> Value:
    message = Value()
    encode_value(value, message)
    return message


def vectors() -> Iterator[dict[str, Any]]:
    """Yields all vectors of values."""
    for name, source in KINDS.items():
        yield described(name, "One kind of value.", parsed(source))
    for name, numbers in TYPES.items():
        array = np.array(numbers, name)
        yield described(f"array of {name}", "Two elements.", encoded(array))
        yield described(f"scalar of {name}", "The first of them.", encoded(array[0]))
    yield from _others()


def _others() -> Iterator[dict[str, Any]]:
    yield described("array of texts", "A type of NumPy's own.", encoded(np.array(["a", "bc"])))
    filled = encoded(np.full((64, 64), 7, np.int16))
    yield described("fill", "4,096 times one element; a writer may send them all.", filled)
    graph = parsed(
        r"graph { nodes { array { data_type: DATA_TYPE_UINT8 shape: 2 shape: 1 data: '\001\002' } } }"
    )
    yield described("graph", "Two nodes without edges.", graph)
    opaque = parsed('opaque { type_name: "builtins.object" text: "<object>" }')
    yield described("opaque", "An object without a wire form; in answers only.", opaque)
    yield described("nested", "A dictionary in a list in a tuple.", encoded(([{"a": (1,)}],)))
    integer = Value(int_value=-3)
    raw = integer.SerializeToString()
    yield described("unknown field", "Readers pass it over.", integer, raw + UNKNOWN_FIELD)
    twice = Value(int_value=5).SerializeToString() + raw
    yield described("kind twice", "The last one counts.", integer, twice)
    wide = bytes([raw[0], raw[1] | 0x80, 0x80, 0])
    yield described("long varint", "A varint may have more bytes than it needs.", integer, wide)
    array = encoded(np.array([[1, 2], [3, 4]], np.uint8))
    unpacked = b"\x08\x06" + b"\x10\x02" + b"\x10\x02" + b"\x1a\x04\x01\x02\x03\x04"
    unpacked = b"\x42" + bytes([len(unpacked)]) + unpacked
    yield described("unpacked shape", "Repeated numbers, one by one.", array, unpacked)
