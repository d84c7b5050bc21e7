"""Values that are like the last one: written and read by their fixed parts, without building a message.

An observation differs from the one before in its elements, not in its type and shape. Writer and reader remember what
stands around the elements, and compare it as bytes. Whatever is not like the last value is left to protobuf.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from envwire.codec.frames import ATTACHED_FROM, Area, Attachments
from envwire.codec.tensors import SCALAR_TYPES, Array, attached, data_type_of, is_portable
from envwire.codec.values import encode_value
from envwire.codec.varints import LENGTH_DELIMITED, tag, varint
from envwire.v1 import values_pb2

_ARRAY: Final = tag(values_pb2.Value, "array", LENGTH_DELIMITED)
_SCALAR: Final = tag(values_pb2.Value, "scalar", LENGTH_DELIMITED)
_DATA: Final = tag(values_pb2.Tensor, "data", LENGTH_DELIMITED)

_SCALARS: Final = frozenset(SCALAR_TYPES)

#: Small integers that are actions over and over.
_REMEMBERED: Final = 1024

UNUSUAL: Final = object()
"""What a reader answers for a value that it does not know."""


class Model:
    """What stands around the elements of arrays of one type and shape, or of scalars of one type, in a Value.

    Args:
        value: An array or scalar with elements whose type has a number on the wire.

    Attributes:
        inline: What stands before the elements in the message.
        beside: The whole Value when the elements are the only attachment of their frame.
    """

    __slots__ = ("_dtype", "_shape", "_type", "beside", "inline", "length")

    def __init__(self, value: Any) -> None:
        self._type: type[Any] = type(value)
        self._dtype, self._shape = value.dtype, value.shape
        self.length: int = value.nbytes
        kind = _ARRAY if self._type is np.ndarray else _SCALAR
        head = values_pb2.Tensor(data_type=data_type_of(value.dtype), shape=value.shape)
        inline = head.SerializeToString() + _DATA + varint(self.length)
        self.inline = kind + varint(len(inline) + self.length) + inline
        head.attachment_offset = 0
        self.beside = kind + varint(head.ByteSize()) + head.SerializeToString()

    def fits(self, value: Any) -> bool:
        """Tells whether a value differs only in its elements."""
        return (
            type(value) is self._type and value.dtype == self._dtype and value.shape == self._shape
        )

    def read_inline(self, raw: bytes, start: int) -> Any:
        """Returns the value whose elements begin at `start`."""
        view: Any = np.ndarray(self._shape, self._dtype, raw, start)
        if self._dtype.kind == "b" and view.view(np.uint8).max() > 1:
            return UNUSUAL
        return np.array(view) if self._type is np.ndarray else view[()]

    def read_beside(self, area: Area) -> Array:
        """Returns the array whose elements are all that was attached."""
        return attached(self._shape, self._dtype, area, 0)


def _model_of(value: Any) -> Model | None:
    usual = type(value) is np.ndarray or type(value) in _SCALARS
    return Model(value) if usual and value.nbytes and is_portable(value.dtype) else None


class ValueWriter:
    """Writes the values of one place, an observation for instance."""

    __slots__ = ("_integers", "_model")

    def __init__(self) -> None:
        self._integers: dict[int, bytes] = {}
        self._model: Model | None = None

    def write(self, value: Any) -> bytes | None:
        """Returns the Value; None for one that is left to protobuf."""
        parts = self.parts(value)
        return None if parts is None else parts[0] + parts[1]

    def parts(
        self, value: Any, attachments: Attachments | None = None
    ) -> tuple[bytes, bytes] | None:
        """Returns the Value in two parts, of which the first is one and the same object for values that are alike.

        Args:
            value: Anything; what is left to protobuf gives None.
            attachments: Empty; takes the elements of a large array.
        """
        if type(value) is int:
            return self._integers.get(value) or self._remember(value), b""
        if not hasattr(value, "dtype"):
            return None
        model = self._model
        if model is None or not model.fits(value):
            model = self._model = _model_of(value)
            if model is None:
                return None
        if attachments is None or model.length < ATTACHED_FROM:
            return model.inline, value.tobytes()
        attachments.add(value)
        return model.beside, b""

    def _remember(self, value: int) -> bytes:
        message = values_pb2.Value()
        encode_value(value, message)
        written = message.SerializeToString()
        if len(self._integers) < _REMEMBERED:
            self._integers[value] = written
        return written


class ValueReader:
    """Reads the values of one place.

    Attributes:
        model: What the last array or scalar was like.
    """

    __slots__ = ("_integers", "model")

    def __init__(self) -> None:
        self._integers: dict[bytes, int] = {}
        self.model: Model | None = None

    def learn(self, value: Any, raw: bytes) -> None:
        """Takes a value, read by protobuf from `raw`, as the model of those to come."""
        if type(value) is int:
            if len(self._integers) < _REMEMBERED:
                self._integers[raw] = value
        elif hasattr(value, "dtype"):
            self.model = _model_of(value)

    def read(self, raw: bytes, start: int, end: int, area: Area | None = None) -> Any:
        """Returns the value between `start` and `end`; UNUSUAL for one that is left to protobuf."""
        model = self.model
        if model is not None:
            data = start + len(model.inline)
            if data + model.length == end and raw[start:data] == model.inline:
                return model.read_inline(raw, data)
            if area is not None and raw[start:end] == model.beside and area.size == model.length:
                return model.read_beside(area)
        return self._integers.get(raw[start:end], UNUSUAL)
