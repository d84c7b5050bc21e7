"""Values of Python and of NumPy: None, booleans, numbers, texts, bytes and text streams; arrays and scalars."""

from __future__ import annotations

import io
import math
from typing import Any, Final

import numpy as np

from envwire.codec.errors.faults import CodecError
from envwire.codec.values.containers import decode_elements, encode_elements
from envwire.codec.values.tensors import (
    SCALAR_TYPES,
    Array,
    decode_tensor,
    encode_tensor,
    unshapely,
)
from envwire.codec.values.value_context import Decoder, Decoding, Encoder, Encoding
from envwire.v1 import values_pb2


def encode_none(_value: None, message: values_pb2.Value, _: Encoding) -> None:
    """Writes None."""
    message.none.SetInParent()


def encode_bool(value: bool, message: values_pb2.Value, _: Encoding) -> None:
    """Writes a boolean."""
    message.bool_value = value


def encode_int(value: int, message: values_pb2.Value, _: Encoding) -> None:
    """Writes an integer of any size."""
    if -(2**63) <= value < 2**63:
        message.int_value = value
    else:
        message.big_int_value = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


def encode_float(value: float, message: values_pb2.Value, _: Encoding) -> None:
    """Writes a floating-point number; -0.0 keeps its sign."""
    message.float_value = value


def encode_complex(value: complex, message: values_pb2.Value, _: Encoding) -> None:
    """Writes a complex number."""
    number = message.complex_value
    number.SetInParent()
    number.real, number.imaginary = value.real, value.imag


def encode_str(value: str, message: values_pb2.Value, _: Encoding) -> None:
    """Writes a string.

    Raises:
        CodecError: It holds lone surrogates, which are not Unicode.
    """
    try:
        message.string_value = value
    except UnicodeEncodeError as error:
        raise _not_unicode(error) from error


def encode_bytes(value: bytes, message: values_pb2.Value, _: Encoding) -> None:
    """Writes bytes."""
    message.bytes_value = value


def encode_text_stream(value: io.StringIO, message: values_pb2.Value, _: Encoding) -> None:
    """Writes the whole text of a stream, whatever its position.

    Raises:
        CodecError: It is closed, or holds lone surrogates.
    """
    try:
        message.text_stream = value.getvalue()
    except UnicodeEncodeError as error:
        raise _not_unicode(error) from error
    except ValueError as error:
        raise CodecError("a closed text stream", "an open one") from error


def decode_as_is(value: Any, _: Decoding) -> Any:
    """Returns a value that protobuf has already decoded to the right type."""
    return value


def _not_unicode(error: UnicodeEncodeError) -> CodecError:
    return CodecError(
        f"a text with a lone surrogate at {error.start}",
        "Unicode text",
        "Send bytes, or replace what was not decoded.",
    )


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
    type(None): encode_none,
    bool: encode_bool,
    int: encode_int,
    float: encode_float,
    complex: encode_complex,
    str: encode_str,
    bytes: encode_bytes,
    io.StringIO: encode_text_stream,
    np.ndarray: encode_array,
    np.generic: encode_scalar,
    # These also extend Python's types, whose rows would otherwise be found first.
    np.str_: encode_scalar,
    np.bytes_: encode_scalar,
    **dict.fromkeys(SCALAR_TYPES, encode_scalar),
}

DECODERS: Final[dict[str, Decoder]] = {
    "none": lambda _, __: None,
    "bool_value": decode_as_is,
    "int_value": decode_as_is,
    "big_int_value": lambda data, _: int.from_bytes(data, "little", signed=True),
    "float_value": decode_as_is,
    "complex_value": lambda number, _: complex(number.real, number.imaginary),
    "string_value": decode_as_is,
    "bytes_value": decode_as_is,
    "text_stream": lambda text, _: io.StringIO(text),
    "array": decode_array,
    "object_array": decode_object_array,
    "scalar": decode_scalar,
}
