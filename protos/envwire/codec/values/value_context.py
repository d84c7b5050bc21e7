"""State of one call that traverses nested values: dispatch by type, depth, remaining budget.

The encoders and decoders are in `builtins`, `arrays`, `containers` and `library_types`; `encoding` combines them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import numpy as np

from envwire.codec.errors.faults import CodecError
from envwire.codec.family import Family, belongs_to_a_family
from envwire.codec.values.foreign import adopted, encode_opaque, is_foreign, type_name
from envwire.codec.values.tensors import FillAllowance
from envwire.v1 import values_pb2
from envwire.wire.frames import Area, Attachments, DeviceArrays

# Most nested messages in a value. protobuf's parsers stop at 100; the rest is for enclosing messages.
_ROOM: Final = 90

_WIRE_TYPES: Final = (
    "None, a bool, a number, str, bytes, a NumPy array or scalar, "
    "or a list, tuple, set or dict of these"
)


@dataclass(eq=False, slots=True)
class Encoding:
    """State of one call that encodes a value: encoders, options, and the containers around the current value.

    Args:
        encoders: The encoder for each type; for a class of the families, by its name.
        opaque: Whether values without an encoder are sent as `Opaque`.
        attachments: Receives large arrays; None leaves them in the message.
        arrays: Receives arrays of other libraries that stay on a device; None leaves them in the message.
    """

    encoders: Mapping[type | str, Encoder]
    opaque: bool
    attachments: Attachments | None = None
    arrays: DeviceArrays | None = None
    _inside: set[int] = field(default_factory=set[int], init=False)
    _room: int = field(default=_ROOM, init=False)

    def enter(self, container: object, messages: int) -> None:
        """Enters a container whose elements are nested `messages` messages deeper.

        Raises:
            CodecError: It contains itself, or its elements are nested too deeply.
        """
        if id(container) in self._inside:
            raise CodecError("a container that holds itself", "values that end", "Cut the cycle.")
        self._room = _deeper(self._room, messages)
        self._inside.add(id(container))

    def leave(self, container: object, messages: int) -> None:
        """Leaves a container that `enter` entered."""
        self._room += messages
        self._inside.discard(id(container))


@dataclass(eq=False, slots=True)
class Decoding:
    """State of one call that decodes a value: decoders, classes to build, remaining budget.

    Args:
        decoders: The decoder for each kind of value.
        family: Library of graphs and enumerations; None refuses them.
        opaque: Whether stand-ins are accepted.
        area: The attachments that came with the message.
        allowance: The bytes that the values of the message may have allocated without containing them.
    """

    decoders: Mapping[str, Decoder]
    family: Family | None
    opaque: bool
    area: Area | None = None
    allowance: FillAllowance = field(default_factory=FillAllowance)
    _room: int = field(default=_ROOM, init=False)

    def enter(self, messages: int) -> None:
        """Enters a container whose elements are nested `messages` messages deeper.

        Raises:
            CodecError: Its elements are nested too deeply.
        """
        self._room = _deeper(self._room, messages)

    def leave(self, messages: int) -> None:
        """Leaves a container that `enter` entered."""
        self._room += messages


Encoder = Callable[[Any, values_pb2.Value, Encoding], None]
Decoder = Callable[[Any, Decoding], Any]


def encode(value: object, message: values_pb2.Value, encoding: Encoding) -> None:
    """Writes one value with the encoder of its type.

    Raises:
        CodecError: A part has no wire form, and the call does not allow `Opaque`.
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
    """Reads one value with the decoder of its kind.

    Raises:
        CodecError: The message breaks the contract.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        raise CodecError("of no kind", "one field of `Value.kind` to be set")
    return decoding.decoders[kind](getattr(message, kind), decoding)


def _deeper(room: int, messages: int) -> int:
    """Returns the room that is left inside `messages` messages."""
    if room - messages < 1:
        levels = f"at most {(_ROOM - 1) // 3} dictionaries or {(_ROOM - 1) // 2} lists deep"
        raise CodecError("nested too deeply", levels, "Flatten it.")
    return room - messages


def _encode_adopted(value: object, message: values_pb2.Value, encoding: Encoding) -> None:
    """Writes a value whose type has no encoder, as a value of the nearest base class, or of the type it stands for."""
    if (encoder := _nearest(type(value), encoding.encoders)) is None:
        if encoding.arrays is not None and encoding.arrays.put(value, message.array):
            return
        value = adopted(value)
        encoder = encoding.encoders[type(value)]
    try:
        encoder(value, message, encoding)
    except CodecError:
        raise
    except Exception as error:  # methods of a subclass may raise anything
        raise CodecError(
            f"a {type_name(type(value))} that cannot be read ({error!r})", _WIRE_TYPES
        ) from error


def _nearest(kind: type[Any], encoders: Mapping[type | str, Encoder]) -> Encoder | None:
    """Returns the encoder for a class, None for one of foreign arrays or numbers.

    Raises:
        CodecError: The class has no wire form.
    """
    if belongs_to_a_family(kind) and kind.__name__ in encoders:
        return encoders[kind.__name__]
    for base in () if _means_more_than_its_bases(kind) else kind.__mro__:
        if base in encoders:
            return encoders[base]
    if is_foreign(kind):
        return None
    raise CodecError(f"a {type_name(kind)}", _WIRE_TYPES, "Convert it before it is sent.")


def _means_more_than_its_bases(kind: type[Any]) -> bool:
    """Returns whether a class is an enumeration or a special array (masked, matrix), not a mere int or array.

    Enumerations of numbers or strings (IntEnum) do not count: they are made to be used as such, for example as actions.
    """
    return issubclass(kind, np.ndarray) or (
        issubclass(kind, Enum) and not issubclass(kind, (int, float, str))
    )
