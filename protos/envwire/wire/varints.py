"""Protobuf primitives: tags, varints, and length-delimited fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

VARINT: Final = 0
FIXED64: Final = 1
LENGTH_DELIMITED: Final = 2
FIXED32: Final = 5
_FIXED: Final = {FIXED64: 8, FIXED32: 4}


def tag(message: Any, field: str, wire_type: int) -> bytes:
    """Returns the byte before a field whose number is below 16."""
    return bytes((message.DESCRIPTOR.fields_by_name[field].number << 3 | wire_type,))


#: The numbers of one byte: lengths, most often. To look one up takes half of what it takes to make it.
_SHORT: Final = tuple(bytes((number,)) for number in range(0x80))


def varint(number: int) -> bytes:
    """Returns protobuf's form of a number that is not negative."""
    if number < 0x80:
        return _SHORT[number]
    if number < 0x4000:  # most sequence numbers, in a third of the time
        return bytes((number & 0x7F | 0x80, number >> 7))
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def read_varint(raw: bytes, index: int) -> tuple[int, int]:
    """Returns the number at `index` and where it ends; one that has no end in these bytes ends nowhere near them."""
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
    """Yields the fields of a message: tag, where it begins, and where the value begins and ends.

    Args:
        raw: Holds the message.
        start: Where the message begins.
        end: Where it ends.

    Raises:
        ValueError: This is not a message.
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
    """Returns where a value of fixed length, or a number, ends; nowhere for another one."""
    if kind == VARINT:
        return read_varint(raw, start)[1]
    return start + _FIXED[kind] if kind in _FIXED else -1


def behind_length(raw: bytes) -> int:
    """Returns where the embedded message begins; 0 when it is not all there is."""
    length, start = read_varint(raw, 1)
    return start if start + length == len(raw) else 0


def wrap(number: int, message: bytes) -> bytes:
    """Returns a message that holds another as its field `number`: its bytes behind a tag and a length."""
    return b"".join((varint(number << 3 | LENGTH_DELIMITED), varint(len(message)), message))


def unwrap(message: bytes) -> tuple[int, bytes]:
    """Returns the number and the bytes of the only field of a message.

    Raises:
        ValueError: It is not all there is.
    """
    key, index = read_varint(message, 0)
    length, start = read_varint(message, index)
    if index < 0 or start + length != len(message) or key & 7 != LENGTH_DELIMITED:
        raise ValueError("not a message with one embedded message")
    return key >> 3, message[start:]
