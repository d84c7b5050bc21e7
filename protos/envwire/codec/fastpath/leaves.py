"""Fast path for values without containers: the bytes of a Value, without building a message.

It covers the builtin types of `values.plain` that need no nested message, and arrays by their layouts: the fixed bytes
around the elements, by dtype and shape. Bytes are read only in the exact form that is written here; any other form is
left to protobuf.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from envwire.codec.values.tensors import SCALAR_TYPES, data_type_of, is_portable
from envwire.v1 import values_pb2
from envwire.wire.frames import ATTACHED_FROM, Area, Attachments
from envwire.wire.varints import read_varint, tag, varint

_ARRAY: Final = tag(values_pb2.Value, "array")
_SCALAR: Final = tag(values_pb2.Value, "scalar")
_DATA: Final = tag(values_pb2.Tensor, "data")
_OFFSET: Final = tag(values_pb2.Tensor, "attachment_offset")

_SCALARS: Final = frozenset(SCALAR_TYPES)
#: The bytes of booleans; NumPy cannot represent others.
BOOLEANS: Final = b"\0\1"

UNKNOWN: Final = object()
"""Returned by readers for a value that is left to protobuf."""


class ArrayLayout:
    """The bytes around the elements in the Value of an array, for one dtype and shape.

    Args:
        value: An array whose dtype is in `DataType`.

    Attributes:
        inline: The bytes before the elements in the message.
        length: Size of the elements, in bytes.
        attachable: Whether the elements are large enough to be attached.
        elements: Returns the elements' bytes of a value that fits.
    """

    _mark = _ARRAY

    def __init__(self, value: Any) -> None:
        self._type: type[Any] = type(value)
        self._dtype, self._shape = value.dtype, value.shape
        self._is_bool = value.dtype.kind == "b"
        self.length: int = value.nbytes
        self.attachable = self.length >= ATTACHED_FROM
        self.elements: Callable[[Any], bytes] = np.ndarray.tobytes
        tensor = values_pb2.Tensor(data_type=data_type_of(value.dtype), shape=value.shape)
        self._head = tensor.SerializeToString()
        inline = self._head + _DATA + varint(self.length)
        self.inline = self._mark + varint(len(inline) + self.length) + inline
        self._offset = -1
        self._moved = b""

    def fits(self, value: Any) -> bool:
        """Returns whether a value differs only in its elements."""
        return (
            type(value) is self._type and value.dtype == self._dtype and value.shape == self._shape
        )

    def beside_at(self, offset: int) -> bytes:
        """Returns the whole Value of an array whose elements are attached at an offset."""
        if offset != self._offset:
            tensor = self._head + _OFFSET + varint(offset)
            self._offset, self._moved = offset, _ARRAY + varint(len(tensor)) + tensor
        return self._moved

    def attach(self, value: Any, attachments: Attachments) -> bytes:
        """Attaches the elements of an array that fits, and returns the Value without them."""
        return self.beside_at(attachments.add(value))

    def read(self, raw: bytes, start: int, end: int, area: Area | None) -> Any:
        """Returns the value between `start` and `end`; UNKNOWN if it has another layout."""
        data = start + len(self.inline)
        if data + self.length == end and raw.startswith(self.inline, start):
            return self.read_inline(raw, data)
        if area is None or not self.attachable:
            return UNKNOWN
        offset = self._offset_of(raw, start, end)
        if offset < 0 or offset + self.length > area.size:
            return UNKNOWN
        view: Any = np.ndarray(self._shape, self._dtype, area, offset)
        return UNKNOWN if self._is_bool and view.view(np.uint8).max() > 1 else view

    def read_inline(self, raw: bytes, start: int) -> Any:
        """Returns the value whose elements begin at `start`."""
        if self._is_bool and raw[start : start + self.length].translate(None, BOOLEANS):
            return UNKNOWN
        view: Any = np.ndarray(self._shape, self._dtype, raw, start)
        return view.copy()

    def _offset_of(self, raw: bytes, start: int, end: int) -> int:
        """Returns the offset of an attached array; -1 for a value of another layout."""
        value = raw[start:end]
        if value == self._moved:
            return self._offset
        _, head = read_varint(value, len(_ARRAY))
        offset, behind = read_varint(value, head + len(self._head) + len(_OFFSET))
        return offset if behind > 0 and value == self.beside_at(offset) else -1


class ScalarLayout(ArrayLayout):
    """The bytes before the element in the Value of a scalar, for one dtype.

    Args:
        value: A scalar whose dtype is in `DataType`.
    """

    _mark = _SCALAR

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.elements = _element

    def fits(self, value: Any) -> bool:
        """Returns whether a value is of this type."""
        return type(value) is self._type

    def read_inline(self, raw: bytes, start: int) -> Any:
        """Returns the scalar at `start`."""
        if self._is_bool and raw[start] > 1:
            return UNKNOWN
        return np.ndarray((), self._dtype, raw, start)[()]


def _element(value: Any) -> bytes:
    return memoryview(value).tobytes()  # takes half as long as NumPy's `tobytes`


def layout_of(value: Any) -> ArrayLayout | None:
    """Returns the layout of an array or scalar; None if it is left to protobuf."""
    if type(value) in _SCALARS:
        return ScalarLayout(value)
    regular = type(value) is np.ndarray and value.nbytes and is_portable(value.dtype)
    return ArrayLayout(value) if regular else None


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
