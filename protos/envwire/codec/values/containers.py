"""Lists, tuples, sets and dictionaries, and the elements of every container."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from envwire.codec.errors.faults import CodecError, key_step, located
from envwire.codec.values.foreign import encode_opaque
from envwire.codec.values.value_context import Decoder, Decoding, Encoder, Encoding, decode, encode
from envwire.v1 import values_pb2

_Row: TypeAlias = values_pb2.ValueList | values_pb2.ObjectArray
"""A message that holds values in a row."""

ELEMENT: Final = 2
"""Nesting depth of an element below its container, in messages: ValueList, Value."""

_ITEM: Final = 3  # ValueMap, ValueEntry, Value

# Kinds that decode to unhashable types; a key can only be of such a kind through a hashable subclass.
_UNHASHABLE: Final = frozenset({"list", "dict", "set", "array", "object_array"})


def encode_elements(
    container: object, elements: Iterable[Any], message: _Row, encoding: Encoding
) -> None:
    """Writes the elements of a container.

    Args:
        container: The container; only its identity is used, to detect cycles.
        elements: The elements.
        message: Filled in place.
        encoding: State of the current call.

    Raises:
        CodecError: An element has no wire form, or the container contains itself.
    """
    encoding.enter(container, ELEMENT)
    add = message.values.add
    try:
        for element in elements:
            encode(element, add(), encoding)
    except CodecError as error:
        error.under(f"[{len(message.values) - 1}]")
        raise
    finally:
        encoding.leave(container, ELEMENT)


def decode_elements(message: _Row, decoding: Decoding) -> list[Any]:
    """Reads the elements of a container.

    Raises:
        CodecError: One of them breaks the contract.
    """
    decoding.enter(ELEMENT)
    elements: list[Any] = []
    add = elements.append
    try:
        for element in message.values:
            add(decode(element, decoding))
    except CodecError as error:
        error.under(f"[{len(elements)}]")
        raise
    decoding.leave(ELEMENT)
    return elements


def encode_row(
    kind: str, value: Iterable[Any], message: values_pb2.Value, encoding: Encoding
) -> None:
    """Writes a list, a tuple or a set, in iteration order; a named tuple loses its names."""
    row = getattr(message, kind)
    row.SetInParent()
    encode_elements(value, value, row, encoding)


def encode_set(value: set[Any], message: values_pb2.Value, encoding: Encoding) -> None:
    """Writes a set, whose elements have to stay hashable."""
    encode_row("set", value, message, encoding)
    kinds = {element.WhichOneof("kind") for element in message.set.values}
    if not kinds.isdisjoint(_UNHASHABLE):
        raise _not_a_key((kinds & _UNHASHABLE).pop())


def decode_set(message: values_pb2.ValueList, decoding: Decoding) -> set[Any]:
    """Reads a set.

    Raises:
        CodecError: An element is not hashable.
    """
    elements = decode_elements(message, decoding)
    try:
        return set(elements)
    except TypeError as error:
        raise CodecError(f"a set with an unhashable element ({error})", "hashable ones") from error


def encode_dict(value: dict[Any, Any], message: values_pb2.Value, encoding: Encoding) -> None:
    """Writes a dictionary in its order."""
    message.dict.SetInParent()
    encode_items(value, message.dict, encoding)


def encode_items(
    mapping: Mapping[Any, Any], message: values_pb2.ValueMap, encoding: Encoding
) -> None:
    """Writes the items of a mapping in their order.

    Raises:
        CodecError: A key or a value has no wire form, or the mapping contains itself.
    """
    encoding.enter(mapping, _ITEM)
    add = message.entries.add
    written: set[bytes] = set()
    key: object = None
    try:
        for key, value in mapping.items():
            entry = add()
            if type(key) is not str or not _encode_name(key, entry):
                _encode_key(key, entry, encoding, written)
            encode(value, entry.value, encoding)
    except CodecError as error:
        error.under(key_step(key))
        raise
    finally:
        encoding.leave(mapping, _ITEM)


def decode_dict(message: values_pb2.ValueMap, decoding: Decoding) -> dict[Any, Any]:
    """Reads a dictionary.

    Raises:
        CodecError: A key is missing, unhashable or repeated, or a value breaks the contract.
    """
    decoding.enter(_ITEM)
    items: dict[Any, Any] = {}
    for entry in message.entries:
        key = entry.name or _decode_key(entry, decoding)
        if key in items:
            raise CodecError("there twice", "each key once").under(key_step(key))
        try:
            items[key] = decode(entry.value, decoding)
        except CodecError as error:
            error.under(key_step(key))
            raise
    decoding.leave(_ITEM)
    return items


def _encode_name(key: str, entry: values_pb2.ValueEntry) -> bool:
    try:
        entry.name = key
    except UnicodeEncodeError:
        return False  # `encode` reports what is wrong with it
    return True


def _encode_key(
    key: object, entry: values_pb2.ValueEntry, encoding: Encoding, written: set[bytes]
) -> None:
    """Writes a key that is not a string."""
    encode(key, entry.other, encoding)
    kind = entry.other.WhichOneof("kind")
    if kind in _UNHASHABLE:
        if not encoding.opaque:
            raise _not_a_key(kind)
        encode_opaque(key, entry.other.opaque)
    if encoding.opaque:
        _keep_apart(key, entry.other, written)


def _keep_apart(key: object, message: values_pb2.Value, written: set[bytes]) -> None:
    """Makes the stand-in of a key unique if another key has an equal one."""
    while message.SerializeToString() in written:
        text = message.opaque.text
        encode_opaque(key, message.opaque)
        message.opaque.text = f"{text or message.opaque.text}'"
    written.add(message.SerializeToString())


def _decode_key(entry: values_pb2.ValueEntry, decoding: Decoding) -> object:
    if entry.HasField("name"):
        return ""
    key = located(".key", decode, entry.other, decoding)
    check_hashable(key)
    return key


def check_hashable(key: object) -> None:
    """Checks that a value can be a key.

    Raises:
        CodecError: The value, or a part of it, is not hashable.
    """
    try:
        hash(key)
    except TypeError as error:
        raise CodecError(f"not hashable ({error})", "a key").under(".key") from error


def _not_a_key(kind: str | None) -> CodecError:
    return CodecError(f"a key that would arrive as a {kind}", "one that stays hashable")


ENCODERS: Final[dict[type | str, Encoder]] = {
    list: partial(encode_row, "list"),
    tuple: partial(encode_row, "tuple"),
    set: encode_set,
    dict: encode_dict,
}

DECODERS: Final[dict[str, Decoder]] = {
    "list": decode_elements,
    "tuple": lambda message, decoding: tuple(decode_elements(message, decoding)),
    "set": decode_set,
    "dict": decode_dict,
}
