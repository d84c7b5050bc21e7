"""Protobuf primitives: tags, varints, and length-delimited fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

_VARINT: Final = 0
_FIXED64: Final = 1
LENGTH_DELIMITED: Final = 2
_FIXED32: Final = 5
_FIXED: Final = {_FIXED64: 8, _FIXED32: 4}
#: The wire types of the contract's fields, by their types in protobuf; all others are varints.
_WIRE_TYPES: Final = {
    FieldDescriptor.TYPE_DOUBLE: _FIXED64,
    FieldDescriptor.TYPE_STRING: LENGTH_DELIMITED,
    FieldDescriptor.TYPE_BYTES: LENGTH_DELIMITED,
    FieldDescriptor.TYPE_MESSAGE: LENGTH_DELIMITED,
}


def tag(message: Any, field: str) -> bytes:
    """Returns the tag of a field whose number is below 16: one byte."""
    found = message.DESCRIPTOR.fields_by_name[field]
    return bytes((found.number << 3 | _WIRE_TYPES.get(found.type, _VARINT),))


#: The varints of one byte, mostly lengths. Looking one up takes half as long as making it.
_SHORT: Final = tuple(bytes((number,)) for number in range(0x80))


def varint(number: int) -> bytes:
    """Returns the varint of a number, which must not be negative."""
    if number < 0x80:
        return _SHORT[number]
    if number < 0x4000:  # most sequence numbers: three times as fast as the loop
        return bytes((number & 0x7F | 0x80, number >> 7))
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def read_varint(raw: bytes, index: int) -> tuple[int, int]:
    """Returns the varint at `index` and the index after it; (0, -1) if it is truncated or too long."""
    if 0 <= index < len(raw):
        first = raw[index]
        if first < 0x80:  # most lengths
            return first, index + 1
        if index + 1 < len(raw) and (second := raw[index + 1]) < 0x80:  # most sequence numbers
            return first & 0x7F | second << 7, index + 2
    number, shift = 0, 0
    while 0 <= index < len(raw) and shift < 70:
        digit = raw[index]
        number |= (digit & 0x7F) << shift
        index, shift = index + 1, shift + 7
        if digit < 0x80:
            return number, index
    return 0, -1


def fields(
    raw: bytes, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, int, int, int]]:
    """Yields the fields of a message: tag, index of the tag, and start and end of the value.

    Args:
        raw: Bytes that contain the message.
        start: Index of its first byte.
        end: Index after its last byte; by default the end of `raw`.

    Raises:
        ValueError: It cannot be parsed.
    """
    last = len(raw) if end is None else end
    index = start
    while index < last:
        begin = index
        key, value = read_varint(raw, begin)
        index = _end_of(raw, key & 7, value)
        if key & 7 == LENGTH_DELIMITED:
            length, value = read_varint(raw, value)
            index = value + length
        if not begin < value <= index <= last:
            raise ValueError(f"no field at byte {begin}")
        yield key, begin, value, index


def _end_of(raw: bytes, kind: int, start: int) -> int:
    """Returns where a varint or a value of fixed length ends; -1 if it is neither, or incomplete."""
    if kind == _VARINT:
        return read_varint(raw, start)[1]
    return start + _FIXED[kind] if kind in _FIXED else -1


def content_start(raw: bytes) -> int:
    """Returns where the embedded message begins; 0 unless it is the only field. The tag has to take one byte."""
    if len(raw) > 1 and raw[1] < 0x80:  # most steps
        return 2 if raw[1] + 2 == len(raw) else 0
    length, start = read_varint(raw, 1)
    return start if start + length == len(raw) else 0


def wrap(number: int, message: bytes) -> bytes:
    """Returns a message that holds another one as its field `number`."""
    return b"".join((varint(number << 3 | LENGTH_DELIMITED), varint(len(message)), message))


def only_field(message: bytes) -> tuple[int, int]:
    """Returns the number of a message's only field, and where the message in it begins; (0, 0) if there is no such."""
    key, index = read_varint(message, 0)
    length, start = read_varint(message, index)
    if key & 7 != LENGTH_DELIMITED or start + length != len(message):
        return 0, 0
    return key >> 3, start
