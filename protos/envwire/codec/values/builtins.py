"""Builtin values: None, booleans, numbers, strings, bytes and text streams."""

from __future__ import annotations

import io
from typing import Any, Final

from envwire.codec.errors.faults import CodecError
from envwire.codec.values.context import Decoder, Decoding, Encoder, Encoding
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


ENCODERS: Final[dict[type | str, Encoder]] = {
    type(None): encode_none,
    bool: encode_bool,
    int: encode_int,
    float: encode_float,
    complex: encode_complex,
    str: encode_str,
    bytes: encode_bytes,
    io.StringIO: encode_text_stream,
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
}
