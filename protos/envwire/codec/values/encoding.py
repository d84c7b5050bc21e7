"""Encodes Python values as typed wire values, and decodes them to the same types.

The exact type decides. An instance of a subclass is sent as the nearest built-in type (an OrderedDict as a dict, a
named tuple as a tuple), except enumerations and subclasses of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from envwire.codec.errors.faults import CodecError, located
from envwire.codec.family import Family
from envwire.codec.values import containers, library_types, plain
from envwire.codec.values.foreign import Opaque, type_name
from envwire.codec.values.tensors import FillAllowance, decode_tensor, encode_tensor, is_portable
from envwire.codec.values.value_context import Decoder, Decoding, Encoder, Encoding, decode, encode
from envwire.v1 import values_pb2
from envwire.wire.frames import Area, Attachments, DeviceArrays


def _decode_opaque(message: values_pb2.Opaque, decoding: Decoding) -> Opaque:
    """Reads a stand-in.

    Raises:
        CodecError: The receiver accepts no stand-ins.
    """
    if not decoding.opaque:
        raise CodecError(
            f"a stand-in for a {message.type_name}", "the value itself", "Send only wire types."
        )
    return Opaque(message.type_name, message.text)


_ENCODERS: Final[dict[type | str, Encoder]] = {
    **plain.ENCODERS,
    **containers.ENCODERS,
    **library_types.ENCODERS,
}

_DECODERS: Final[dict[str, Decoder]] = {
    **plain.DECODERS,
    **containers.DECODERS,
    **library_types.DECODERS,
    "opaque": _decode_opaque,
}


_AS_THEY_ARE: Final = frozenset(
    kind for kind, decoder in _DECODERS.items() if decoder is plain.decode_as_is
)


def encode_value(
    value: Any,
    message: values_pb2.Value,
    path: str = "value",
    *,
    opaque: bool = False,
    attachments: Attachments | None = None,
    arrays: DeviceArrays | None = None,
) -> None:
    """Writes a value into an empty message.

    Args:
        value: A value of the types that `Value` lists, up to 29 dictionaries or 44 lists deep.
        message: Filled in place.
        path: Name of the value in error messages.
        opaque: Whether to write objects without a wire form as `Opaque` instead of refusing them.
        attachments: Receives large arrays; None leaves them in the message.
        arrays: Receives arrays of other libraries that stay on a device; by default those of the attachments.

    Raises:
        CodecError: A part has no wire form, and `opaque` is false.
    """
    try:
        if type(value) is np.ndarray and is_portable(value.dtype):  # most observations
            encode_tensor(value, message.array, attachments)
        else:
            encode(value, message, _encoding(opaque, attachments, arrays))
    except CodecError as error:
        error.under(path)
        raise


def _encoding(
    opaque: bool, attachments: Attachments | None, arrays: DeviceArrays | None
) -> Encoding:
    if arrays is None and attachments is not None:
        arrays = attachments.arrays
    return Encoding(_ENCODERS, opaque, attachments, arrays)


def decode_value(
    message: values_pb2.Value,
    family: Family | None,
    path: str = "value",
    *,
    opaque: bool = True,
    area: Area | None = None,
    allowance: FillAllowance | None = None,
) -> Any:
    """Reads a value. Arrays are new, writable, C-contiguous and in native byte order.

    Args:
        message: The message.
        family: Library of the graphs and enumerations to build; None refuses them.
        path: Name of the value in error messages.
        opaque: Whether an `Opaque` may stand in for an object; servers refuse it in requests.
        area: The attachments that came with the message.
        allowance: The allowance of a message with several values; by default one for this value.

    Raises:
        CodecError: The message breaks the contract.
    """
    try:
        kind = message.WhichOneof("kind")
        if kind == "array" and (family is None or family.arrays is None):  # most observations
            return decode_tensor(message.array, allowance, area)
        if kind in _AS_THEY_ARE:
            return getattr(message, kind)
        return decode(
            message, Decoding(_DECODERS, family, opaque, area, allowance or FillAllowance())
        )
    except CodecError as error:
        error.under(path)
        raise


def encode_mapping(
    mapping: Mapping[Any, Any],
    message: values_pb2.ValueMap,
    path: str = "mapping",
    *,
    opaque: bool = False,
    attachments: Attachments | None = None,
    arrays: DeviceArrays | None = None,
) -> None:
    """Writes the items of a mapping in their order.

    Arguments and errors are those of `encode_value`.
    """
    if not hasattr(mapping, "items"):
        raise CodecError(f"a {type_name(type(mapping))}", "a mapping").under(path)
    if not mapping:  # most infos
        return
    encoding = _encoding(opaque, attachments, arrays)
    located(path, containers.encode_items, mapping, message, encoding)


def decode_mapping(
    message: values_pb2.ValueMap,
    family: Family | None,
    path: str = "mapping",
    *,
    opaque: bool = True,
    area: Area | None = None,
    allowance: FillAllowance | None = None,
) -> dict[Any, Any]:
    """Reads a dictionary.

    Arguments and errors are those of `decode_value`.
    """
    if not message.entries:  # most infos
        return {}
    decoding = Decoding(_DECODERS, family, opaque, area, allowance or FillAllowance())
    return located(path, containers.decode_dict, message, decoding)


def encode_values(
    values: Sequence[Any], message: values_pb2.ValueList, path: str = "values"
) -> None:
    """Writes a sequence of values, of which none may be opaque.

    Arguments and errors are those of `encode_value`.
    """
    encoding = Encoding(_ENCODERS, opaque=False)
    located(path, containers.encode_elements, values, values, message, encoding)


def decode_values(
    message: values_pb2.ValueList,
    family: Family | None,
    path: str = "values",
    *,
    opaque: bool = True,
    allowance: FillAllowance | None = None,
) -> list[Any]:
    """Reads a sequence of values.

    Arguments and errors are those of `decode_value`.
    """
    decoding = Decoding(_DECODERS, family, opaque, allowance=allowance or FillAllowance())
    return located(path, containers.decode_elements, message, decoding)
