"""Fast path for values without containers: the bytes of a Value, without building a message.

It covers the types of `values.builtins` that need no nested message, and arrays by their layouts. Bytes are read only
in the exact form that is written here; any other form is left to protobuf.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from envwire.codec.fastpath.array_layouts import UNKNOWN, ArrayLayout, layout_of
from envwire.v1 import values_pb2
from envwire.wire.frames import Area, Attachments
from envwire.wire.varints import read_varint, tag, varint

_NONE: Final = tag(values_pb2.Value, "none")
_BOOLEAN: Final = tag(values_pb2.Value, "bool_value")
_INTEGER: Final = tag(values_pb2.Value, "int_value")
_FLOAT: Final = tag(values_pb2.Value, "float_value")
_TEXT: Final = tag(values_pb2.Value, "string_value")
_BYTES: Final = tag(values_pb2.Value, "bytes_value")

_DOUBLE: Final = struct.Struct("<d")
_LARGEST: Final = 2**63 - 1
_FALSE, _TRUE, _NOTHING = _BOOLEAN + b"\0", _BOOLEAN + b"\1", _NONE + b"\0"


class FastPathMiss(Exception):  # noqa: N818 - not an error: protobuf handles what is unknown here
    """A value that is left to protobuf, or the bytes of one."""


def _spelled(value: int) -> bytes:
    return _INTEGER + varint(value << 1 if value >= 0 else ~(value << 1))


class _Integers(dict[int, bytes]):
    """The Values of integers: small ones are looked up, others are encoded."""

    def __missing__(self, value: int) -> bytes:
        if not ~_LARGEST <= value <= _LARGEST:
            raise FastPathMiss
        return _spelled(value)


INTEGERS: Final = _Integers((value, _spelled(value)) for value in range(-128, 1024))
"""The Values of small integers: most actions, counts and positions."""

KNOWN: Final[dict[bytes, Any]] = {
    _NOTHING: None,
    _FALSE: False,
    _TRUE: True,
    **{written: value for value, written in INTEGERS.items()},
}
"""The content of short Values, by their bytes."""

SHORT: Final = max(map(len, KNOWN))
"""Length of the longest key of `KNOWN`, in bytes."""


def _float(value: float) -> bytes:
    return _FLOAT + _DOUBLE.pack(value)


def _text(value: str) -> bytes:
    try:
        text = value.encode()
    except UnicodeEncodeError:
        raise FastPathMiss from None
    return b"".join((_TEXT, varint(len(text)), text))


def _bytes(value: bytes) -> bytes:
    return b"".join((_BYTES, varint(len(value)), value))


def _read_integer(raw: bytes, index: int, end: int) -> int:
    number, behind = read_varint(raw, index)
    if behind != end or number >> 64:
        raise FastPathMiss
    return number >> 1 ^ -(number & 1)


def _read_float(raw: bytes, index: int, end: int) -> float:
    if end - index != _DOUBLE.size:
        raise FastPathMiss
    value: float = _DOUBLE.unpack_from(raw, index)[0]
    return value


def _read_text(raw: bytes, index: int, end: int) -> str:
    try:
        return _read_bytes(raw, index, end).decode()
    except UnicodeDecodeError:
        raise FastPathMiss from None


def _read_bytes(raw: bytes, index: int, end: int) -> bytes:
    length, start = read_varint(raw, index)
    if start + length != end or start < index:
        raise FastPathMiss
    return raw[start:end]


WRITERS: Final[dict[Any, Callable[[Any], bytes]]] = {
    type(None): {None: _NOTHING}.__getitem__,
    bool: {False: _FALSE, True: _TRUE}.__getitem__,
    int: INTEGERS.__getitem__,
    float: _float,
    str: _text,
    bytes: _bytes,
}
"""Functions that encode a plain value, by its exact type; they may raise `FastPathMiss`."""

READERS: Final[dict[bytes, Callable[[bytes, int, int], Any]]] = {
    _INTEGER: _read_integer,
    _FLOAT: _read_float,
    _TEXT: _read_text,
    _BYTES: _read_bytes,
}
"""Functions that decode the plain value between two indices, by its tag; they may raise `FastPathMiss`.

None and booleans are not here: each has only the form in `KNOWN`."""


class ScalarTemplate:
    """A node without containers: plain values, and arrays with the layout of the last one."""

    def __init__(self, value: Any = None) -> None:
        self._layout: ArrayLayout | None = None
        if type(value) not in WRITERS:
            self._learn(value)

    def _learn(self, value: Any) -> ArrayLayout:
        layout = self._layout = layout_of(value)
        if layout is None:
            raise FastPathMiss
        return layout

    def write(self, value: Any, parts: list[bytes], attachments: Attachments | None) -> int:
        """Appends a Value to `parts` and returns its length; attaches a large array."""
        layout = self._layout
        if layout is None or not layout.fits(value):
            plain = WRITERS.get(type(value))
            if plain is not None:
                written = plain(value)
                parts.append(written)
                return len(written)
            layout = self._learn(value)
        if attachments is not None and layout.attachable:
            written = layout.attach(value, attachments)
            parts.append(written)
            return len(written)
        parts += (layout.inline, layout.elements(value))
        return len(layout.inline) + layout.length

    def read(self, raw: bytes, start: int, end: int, area: Area | None) -> Any:
        """Returns the value between `start` and `end`."""
        if end - start <= SHORT:
            known = KNOWN.get(raw[start:end], UNKNOWN)
            if known is not UNKNOWN:
                return known
        plain = READERS.get(raw[start : start + 1])
        if plain is not None:
            return plain(raw, start + 1, end)
        value = UNKNOWN if self._layout is None else self._layout.read(raw, start, end, area)
        if value is UNKNOWN:
            raise FastPathMiss
        return value
