"""Values of library classes: samples of Graph spaces and autoreset modes.

Encoding recognises the classes of both families by name; decoding builds those of one family.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from envwire.codec.errors.faults import CodecError, located
from envwire.codec.family import Family
from envwire.codec.values.containers import ELEMENT
from envwire.codec.values.foreign import Opaque
from envwire.codec.values.value_context import Decoder, Decoding, Encoder, Encoding, decode, encode
from envwire.v1 import values_pb2

_ENUMERATION: Final = "AutoresetMode"
_PARTS: Final = ("nodes", "edges", "edge_links")


def encode_graph(value: Any, message: values_pb2.Value, encoding: Encoding) -> None:
    """Writes a sample of a Graph space; parts that are None are left out."""
    message.graph.SetInParent()
    encoding.enter(value, ELEMENT)
    try:
        for name in _PARTS:
            part = getattr(value, name)
            if part is not None:
                located(f".{name}", encode, part, getattr(message.graph, name), encoding)
    finally:
        encoding.leave(value, ELEMENT)


def decode_graph(graph: values_pb2.GraphValue, decoding: Decoding) -> Any:
    """Reads a sample of a Graph space.

    Raises:
        CodecError: A part breaks the contract, or the receiver accepts no graphs.
    """
    family = _family(decoding)
    decoding.enter(ELEMENT)
    parts = {
        name: located(f".{name}", decode, getattr(graph, name), decoding)
        for name in _PARTS
        if name == "nodes" or graph.HasField(name)
    }
    decoding.leave(ELEMENT)
    return family.GraphInstance(**(dict.fromkeys(_PARTS) | parts))


def encode_autoreset_mode(value: Enum, message: values_pb2.Value, _: Encoding) -> None:
    """Writes a member of AutoresetMode by name."""
    message.enum_member.enumeration = _ENUMERATION
    message.enum_member.member = value.name


def decode_enum_member(message: values_pb2.EnumMember, decoding: Decoding) -> Any:
    """Reads a member of a known enumeration; a stand-in if the family is too old to have the enumeration.

    Raises:
        CodecError: The enumeration or the member is unknown.
    """
    name, member = message.enumeration, message.member
    if name != _ENUMERATION:
        raise CodecError(f"a member of the enumeration {name!r}", f"one of {_ENUMERATION}")
    enumeration = _family(decoding).AutoresetMode
    if enumeration is None:
        return Opaque(name, f"{name}.{member}")
    try:
        return enumeration.__members__[member]
    except KeyError as error:
        raise CodecError(f"{name}.{member}", f"one of {[*enumeration.__members__]}") from error


def _family(decoding: Decoding) -> Family:
    if decoding.family is None:
        raise CodecError("of a library's own class", "a value without such classes")
    return decoding.family


ENCODERS: Final[dict[type | str, Encoder]] = {
    "GraphInstance": encode_graph,
    "AutoresetMode": encode_autoreset_mode,
}

DECODERS: Final[dict[str, Decoder]] = {
    "graph": decode_graph,
    "enum_member": decode_enum_member,
}
