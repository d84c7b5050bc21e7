"""State of one call while it walks nested values: dispatch by type, depth, remaining budget.

`builtins`, `arrays`, `containers` and `library_types` hold the rows; `encoding` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

import numpy as np

from envwire.codec.errors.codec_error import CodecError
from envwire.codec.family import Family, belongs_to_a_family
from envwire.codec.values.opaque import encode_opaque, type_name
from envwire.codec.values.tensors import FillAllowance
from envwire.v1 import values_pb2
from envwire.wire.frames import Area, Attachments

# How many messages a value may nest. protobuf's parsers stop at 100; the rest is for those around.
_ROOM: Final = 90

_WIRE_TYPES: Final = (
    "None, a bool, a number, str, bytes, a NumPy array or scalar, "
    "or a list, tuple, set or dict of these"
)


class Encoding:
    """One call of an encoder: its table, whether it may fall back, the containers it is inside of.

    Args:
        encoders: A row for each type; for a class of the families, for its name.
        opaque: Whether what has no row travels as `Opaque`.
        attachments: Takes large arrays; None leaves them in the message.
    """

    __slots__ = ("_inside", "_room", "attachments", "encoders", "opaque")

    def __init__(
        self,
        encoders: Mapping[type | str, Encoder],
        opaque: bool,
        attachments: Attachments | None = None,
    ) -> None:
        self.encoders = encoders
        self.opaque = opaque
        self.attachments = attachments
        self._inside: set[int] = set()
        self._room = _ROOM

    def enter(self, container: object, messages: int) -> None:
        """Begins a container whose elements are `messages` messages further down.

        Raises:
            CodecError: It holds itself, or its elements would be too deep.
        """
        if id(container) in self._inside:
            raise CodecError("a container that holds itself", "values that end", "Cut the cycle.")
        _check_room(self._room - messages)
        self._room -= messages
        self._inside.add(id(container))

    def leave(self, container: object, messages: int) -> None:
        """Ends a container that was begun so."""
        self._room += messages
        self._inside.discard(id(container))


class Decoding:
    """One call of a decoder: its table, the classes to build, what the message may still fill in.

    Args:
        decoders: A row for each kind of value.
        family: Where graphs and enumerations come from; None refuses them.
        opaque: Whether stand-ins are taken.
        area: The attachments that came with the message.
    """

    __slots__ = ("_room", "allowance", "area", "decoders", "family", "opaque")

    def __init__(
        self,
        decoders: Mapping[str, Decoder],
        family: Family | None,
        opaque: bool,
        area: Area | None = None,
    ) -> None:
        self.decoders = decoders
        self.family = family
        self.opaque = opaque
        self.area = area
        self.allowance = FillAllowance()
        self._room = _ROOM

    def enter(self, messages: int) -> None:
        """Begins a container whose elements are `messages` messages further down.

        Raises:
            CodecError: Its elements are too deep.
        """
        _check_room(self._room - messages)
        self._room -= messages

    def leave(self, messages: int) -> None:
        """Ends a container that was begun so."""
        self._room += messages


Encoder = Callable[[Any, values_pb2.Value, Encoding], None]
Decoder = Callable[[Any, Decoding], Any]


def encode(value: object, message: values_pb2.Value, encoding: Encoding) -> None:
    """Writes one value with the row of its type.

    Raises:
        CodecError: A part has no wire form, and the call may not fall back.
    """
    try:
        encoder = encoding.encoders.get(type(value))
        if encoder is None:
            _encode_adopted(value, message, encoding)
        else:
            encoder(value, message, encoding)
    except CodecError:
        if not encoding.opaque:
            raise
        encode_opaque(value, message.opaque)


def decode(message: values_pb2.Value, decoding: Decoding) -> Any:
    """Reads one value with the row of its kind.

    Raises:
        CodecError: The message breaks the contract.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        raise CodecError("of no kind", "one field of `Value.kind` to be set")
    return decoding.decoders[kind](getattr(message, kind), decoding)


def _check_room(room: int) -> None:
    if room < 1:
        raise CodecError(
            "nested too deeply", f"at most {(_ROOM - 1) // 3} levels of dictionaries", "Flatten it."
        )


def _encode_adopted(value: object, message: values_pb2.Value, encoding: Encoding) -> None:
    """Writes a value whose type has no row of its own, as a value of the nearest type that has."""
    encoder = _nearest(type(value), encoding.encoders)
    try:
        encoder(value, message, encoding)
    except CodecError:
        raise
    except Exception as error:  # methods of a subclass may raise anything
        raise CodecError(
            f"a {type_name(type(value))} that cannot be read ({error!r})", _WIRE_TYPES
        ) from error


def _nearest(kind: type[Any], encoders: Mapping[type | str, Encoder]) -> Encoder:
    if belongs_to_a_family(kind) and kind.__name__ in encoders:
        return encoders[kind.__name__]
    for base in () if _means_more_than_its_bases(kind) else kind.__mro__:
        if base in encoders:
            return encoders[base]
    raise CodecError(f"a {type_name(kind)}", _WIRE_TYPES, "Convert it before it is sent.")


def _means_more_than_its_bases(kind: type[Any]) -> bool:
    """Tells enumerations and special arrays (masked, matrix), which are no mere int or array.

    An enumeration of numbers or texts (IntEnum) is made to be used as one, as an action for instance.
    """
    return issubclass(kind, np.ndarray) or (
        issubclass(kind, Enum) and not issubclass(kind, (int, float, str))
    )
