"""Arrays and NumPy scalars as tensors: element type, shape, packed little-endian elements."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from envwire.codec.errors.faults import CodecError
from envwire.v1 import values_pb2
from envwire.wire.frames import ATTACHED_FROM, Area, Attachments

Array: TypeAlias = npt.NDArray[Any]


def _ordered(dtype: Any, order: Literal["<", "="]) -> np.dtype[Any]:
    # Created from its name, because NumPy shows an explicit byte order in the repr.
    ordered: np.dtype[Any] = np.dtype(dtype.newbyteorder(order).str)
    return ordered


# The table of element types, derived from the contract, whose names are NumPy's.
_DTYPES: Final[dict[int, np.dtype[Any]]] = {
    number: _ordered(np.dtype(name.removeprefix("DATA_TYPE_").lower()), "<")
    for name, number in values_pb2.DataType.items()
    if number not in {values_pb2.DATA_TYPE_UNSPECIFIED, values_pb2.DATA_TYPE_NUMPY}
}
_NUMBERS: Final = {dtype: values_pb2.DataType.ValueType(n) for n, dtype in _DTYPES.items()}

# Types whose native form is their wire form, which most observations have.
_PLAIN: Final[dict[int, np.dtype[Any]]] = {
    number: dtype for number, dtype in _DTYPES.items() if dtype.isnative and dtype.kind in "iufc"
}

SCALAR_TYPES: Final = tuple(dtype.type for dtype in _DTYPES.values())
"""NumPy's scalar types that have a number in `DataType`."""

# Type names from a peer that NumPy may parse. With zero-width types, no bytes at all could fill any shape.
_NUMPY_TYPE: Final = re.compile(r"<U[1-9]\d{0,8}|\|S[1-9]\d{0,8}|<[Mm]8(\[\w{1,20}\])?")

# Kinds of elements of which not every byte is valid: the unit to look at, its largest value, what is wrong with others.
_LARGEST: Final = {
    "b": ("u1", 1, "a boolean of another byte than 0 or 1", "0 or 1 in each byte"),
    "U": ("<u4", 0x10FFFF, "text with a code point over U+10FFFF", "Unicode in four bytes each"),
}
#: As many bytes as a message may have by default.
_MAX_FILLED: Final = 2**28
_ELEMENTS: Final = "booleans, numbers, fixed-width text or bytes, or times"


def data_type_of(dtype: np.dtype[Any]) -> values_pb2.DataType.ValueType:
    """Returns the number of an element type in `DataType`; the byte order does not matter.

    Raises:
        CodecError: The type has no number.
    """
    number = _NUMBERS.get(_ordered(dtype, "<"))
    if number is None:
        raise CodecError(f"of NumPy type {dtype}", _ELEMENTS, "Convert it first with `astype`.")
    return number


def dtype_of(number: int) -> np.dtype[Any]:
    """Returns the element type with this number in `DataType`, in native byte order.

    Raises:
        CodecError: There is no such number.
    """
    try:
        return _ordered(_DTYPES[number], "=")
    except KeyError:
        raise CodecError(f"of element type {number}", "a number or boolean of DataType") from None


def is_portable(dtype: np.dtype[Any]) -> bool:
    """Returns whether an element type has a number in `DataType`."""
    return dtype in _NUMBERS


class FillAllowance:
    """Limits the bytes that one message may have allocated without containing them.

    Args:
        limit: The limit; by default what a message may have.
    """

    __slots__ = ("_left", "_limit")

    def __init__(self, limit: int | None = None) -> None:
        self._limit = self._left = _MAX_FILLED if limit is None else limit

    def spend(self, size: int) -> None:
        """Subtracts a size in bytes from the allowance.

        Raises:
            CodecError: Less is left.
        """
        if size > self._left:
            raise CodecError(
                f"{size} bytes from a few",
                f"at most {self._limit} of them in one message, of which {self._left} are left",
            )
        self._left -= size


def encode_tensor(
    array: Array, tensor: values_pb2.Tensor, attachments: Attachments | None = None
) -> None:
    """Writes an array or scalar of any byte order and memory layout.

    Args:
        array: The array.
        tensor: Filled in place.
        attachments: Receives the elements of a large array; None leaves them in the message.

    Raises:
        CodecError: The elements have no wire form (long double, structures, objects).
    """
    number = _NUMBERS.get(array.dtype)
    if number is None:
        array, number = _portable(np.asarray(array), tensor)
    tensor.data_type = number
    tensor.shape.extend(array.shape)
    if attachments is None or array.nbytes < ATTACHED_FROM:
        tensor.data = array.tobytes()
    else:
        tensor.attachment_offset = attachments.add(array)


def encode_uniform_tensor(array: Array, tensor: values_pb2.Tensor) -> None:
    """Writes an array as `encode_tensor` does, but only one element if all have the same bytes.

    Raises:
        CodecError: The elements have no wire form.
    """
    encode_tensor(array, tensor)
    element = tensor.data[: array.itemsize]
    if array.size > 1 and tensor.data == element * array.size:
        tensor.data = element
        tensor.fill = True


def decode_tensor(
    tensor: values_pb2.Tensor,
    allowance: FillAllowance | None = None,
    area: Area | None = None,
) -> Array:
    """Reads a tensor into a new, writable, C-contiguous array in native byte order.

    Args:
        tensor: The message.
        allowance: The allowance of the whole message; a new one by default.
        area: The attachments that came with the message; the array is a view of them.

    Raises:
        CodecError: Type, shape and data do not match.
    """
    data, axes = tensor.data, tensor.shape
    plain = _PLAIN.get(tensor.data_type)
    if plain is not None and not tensor.fill and _is_row(axes, plain.itemsize, len(data)):
        return np.array(np.frombuffer(data, plain))
    dtype = _DTYPES.get(tensor.data_type)
    if dtype is None:
        dtype = _named_dtype(tensor)
    shape = tuple(axes[:])
    if area is not None and tensor.HasField("attachment_offset"):
        return attached(shape, dtype, area, tensor.attachment_offset)
    if tensor.fill:
        return _filled(shape, dtype, data, allowance or FillAllowance())
    if math.prod(shape) * dtype.itemsize != len(data):
        raise _wrong_length(shape, dtype, data)
    return _own(_view(shape, dtype, data))


def byte_length(tensor: values_pb2.Tensor) -> int:
    """Returns the size of a tensor's elements, in bytes.

    Raises:
        CodecError: There is no such element type.
    """
    dtype = _DTYPES.get(tensor.data_type)
    if dtype is None:
        dtype = _named_dtype(tensor)
    return math.prod(tensor.shape) * dtype.itemsize


def attached(shape: tuple[int, ...], dtype: np.dtype[Any], area: Area, offset: int) -> Array:
    """Returns an array that is a view of a frame's attachments.

    Raises:
        CodecError: The array would extend beyond the attachments.
    """
    end = offset + math.prod(shape) * dtype.itemsize
    if end > area.size:
        raise CodecError(f"an array up to byte {end} of {area.size} attached ones", "one of them")
    part = area[offset:end]
    view = _view(shape, dtype, part)
    return view if dtype.isnative else _own(view)


def _is_row(axes: Sequence[int], item: int, length: int) -> bool:
    """Returns whether a tensor has one axis that matches its bytes, as most tensors do."""
    return len(axes) == 1 and axes[0] * item == length > 0


def unshapely(shape: tuple[int, ...], error: Exception) -> CodecError:
    """Returns the error for a shape with more axes, or longer ones, than this NumPy supports."""
    return CodecError(f"of shape {shape}", f"a shape that NumPy can hold ({error})")


def _own(view: Any) -> Array:
    native = view.dtype.isnative
    owned: Array = view.copy() if native else view.astype(_ordered(view.dtype, "="))
    return owned


def _view(shape: tuple[int, ...], dtype: np.dtype[Any], data: bytes | Area) -> Array:
    """Returns an array over bytes of the right length; refuses elements that NumPy cannot represent."""
    if dtype.kind in _LARGEST:
        unit, largest, found, expected = _LARGEST[dtype.kind]
        if np.frombuffer(data, unit).max(initial=0) > largest:
            raise CodecError(found, expected)
    try:
        view: Array = np.ndarray(shape, dtype, data)
    except (ValueError, OverflowError) as error:
        raise unshapely(shape, error) from error
    return view


def _filled(
    shape: tuple[int, ...], dtype: np.dtype[Any], data: bytes, allowance: FillAllowance
) -> Array:
    if len(data) != dtype.itemsize:
        raise _wrong_length((), dtype, data)
    allowance.spend(math.prod(shape) * dtype.itemsize)
    element = _own(_view((), dtype, data))
    try:
        return np.full(shape, element, element.dtype)
    except (ValueError, OverflowError) as error:
        raise unshapely(shape, error) from error


def _portable(array: Any, tensor: values_pb2.Tensor) -> tuple[Array, values_pb2.DataType.ValueType]:
    """Converts arrays of foreign byte order, and of types that only NumPy names, to their wire form."""
    wire: Any = _ordered(array.dtype, "<")
    if _NUMPY_TYPE.fullmatch(wire.str):
        number, tensor.numpy_type = values_pb2.DATA_TYPE_NUMPY, wire.str
    else:
        number = data_type_of(array.dtype)
    return array.astype(wire, copy=False), number


def _named_dtype(tensor: values_pb2.Tensor) -> np.dtype[Any]:
    name = tensor.numpy_type
    if tensor.data_type == values_pb2.DATA_TYPE_NUMPY and _NUMPY_TYPE.fullmatch(name):
        try:
            return np.dtype(name)
        except (TypeError, ValueError, OverflowError) as error:
            raise CodecError(f"of NumPy type {name!r}", f"one that NumPy has: {error}") from error
    raise CodecError(
        f"of element type {tensor.data_type} {name!r}",
        f"a type of the enumeration DataType, with its NumPy name if it is {_ELEMENTS}",
        "Set `data_type` as values.proto says.",
    )


def _wrong_length(shape: tuple[int, ...], dtype: np.dtype[Any], data: bytes) -> CodecError:
    return CodecError(
        f"{len(data)} bytes of data",
        f"{math.prod(shape) * dtype.itemsize} bytes for shape {shape} of {dtype}",
        "Send product(shape) * item size bytes, or one element with `fill`.",
    )
