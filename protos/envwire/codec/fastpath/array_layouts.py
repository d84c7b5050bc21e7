"""The fixed bytes around the elements of an array, by dtype and shape."""

from __future__ import annotations

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
_BOOLEANS: Final = b"\0\1"

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
        if self._is_bool and raw[start : start + self.length].translate(None, _BOOLEANS):
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
