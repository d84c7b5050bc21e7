"""NumPy values: numeric arrays, object arrays and scalars."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from envwire.codec.errors.faults import CodecError
from envwire.codec.values.containers import decode_elements, encode_elements
from envwire.codec.values.context import Decoder, Decoding, Encoder, Encoding
from envwire.codec.values.tensors import (
    SCALAR_TYPES,
    Array,
    decode_tensor,
    encode_tensor,
    unshapely,
)
from envwire.v1 import values_pb2


def encode_array(value: Any, message: values_pb2.Value, encoding: Encoding) -> None:
    """Writes an array of any memory layout; an object array value by value."""
    if value.dtype.kind == "O":
        objects = message.object_array
        objects.SetInParent()
        objects.shape.extend(value.shape)
        encode_elements(value, value.flat, objects, encoding)
    else:
        encode_tensor(value, message.array, encoding.attachments)


def decode_array(tensor: values_pb2.Tensor, decoding: Decoding) -> Any:
    """Reads an array; if the receiver shares a device's memory with the sender, one of the library that it asked for.

    Raises:
        CodecError: Type, shape and data do not match.
    """
    arrays = None if decoding.family is None else decoding.family.arrays
    if arrays is None:
        return decode_tensor(tensor, decoding.allowance, decoding.area)
    if tensor.HasField("device"):
        return arrays.take(tensor)
    return arrays.placed(decode_tensor(tensor, decoding.allowance, decoding.area))


def decode_object_array(message: values_pb2.ObjectArray, decoding: Decoding) -> Array:
    """Reads an array of objects.

    Raises:
        CodecError: The number of values does not match the shape.
    """
    shape = tuple(message.shape[:])
    if math.prod(shape) != len(message.values):
        raise CodecError(
            f"{len(message.values)} values", f"{math.prod(shape)} values for shape {shape}"
        )
    elements = decode_elements(message, decoding)
    try:
        # `fromiter` keeps each element whole; assignment would spread lists over the array.
        array: Array = np.fromiter(elements, object, len(elements))
        return np.reshape(array, shape)
    except (ValueError, OverflowError) as error:
        raise unshapely(shape, error) from error


def encode_scalar(value: Any, message: values_pb2.Value, _: Encoding) -> None:
    """Writes a NumPy scalar.

    Raises:
        CodecError: Its type has no wire form, or it is a string that NumPy would truncate.
    """
    if value.dtype.kind in "US" and value[-1:] in {"\0", b"\0"}:
        raise CodecError("a NumPy text that ends in NUL", "none, for arrays of NumPy drop it")
    encode_tensor(value, message.scalar)


def decode_scalar(tensor: values_pb2.Tensor, decoding: Decoding) -> Any:
    """Reads a NumPy scalar.

    Raises:
        CodecError: The tensor is not 0-dimensional.
    """
    if tensor.shape:
        raise CodecError(f"a scalar of shape {tuple(tensor.shape)}", "the empty shape")
    return decode_tensor(tensor, decoding.allowance)[()]


ENCODERS: Final[dict[type | str, Encoder]] = {
    np.ndarray: encode_array,
    np.generic: encode_scalar,
    # These also extend Python's types, whose rows would otherwise be found first.
    np.str_: encode_scalar,
    np.bytes_: encode_scalar,
    **dict.fromkeys(SCALAR_TYPES, encode_scalar),
}

DECODERS: Final[dict[str, Decoder]] = {
    "array": decode_array,
    "object_array": decode_object_array,
    "scalar": decode_scalar,
}
