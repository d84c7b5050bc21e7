"""State of one call that traverses a tree of spaces: depth, spaces seen, remaining budget.

Spaces of unknown classes are encoded as the known space that they derive from, with a warning: it describes the same
values. Overridden methods such as `sample` and `contains` are lost, because code is not sent.
"""

from __future__ import annotations

import string
import warnings
from collections.abc import Callable, Container, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from envwire.codec.errors.faults import CodecError, located
from envwire.codec.family import Family, belongs_to_a_family
from envwire.codec.spaces.random_states import decode_random_state, encode_random_state
from envwire.codec.values.containers import check_hashable
from envwire.codec.values.encoding import decode_value
from envwire.codec.values.foreign import type_name
from envwire.codec.values.tensors import Array, FillAllowance, decode_tensor
from envwire.v1 import spaces_pb2, values_pb2

#: Longest text of a space whose only known property is that its elements are strings, such as MiniGrid's MissionSpace.
_MAX_LENGTH: Final = 4096
_CHARACTERS: Final = string.printable


def known_name(kind: type[Any], names: Container[str]) -> str | None:
    """Returns the name of a known class, or of its nearest known base; None if there is none."""
    for base in kind.__mro__:
        if base.__name__ in names and belongs_to_a_family(base):
            if base is not kind:
                _warn(kind, base.__name__)
            return base.__name__
    return None


def encode_as_text(space: Any, message: spaces_pb2.TextSpace) -> bool:
    """Writes a space of strings that derives from no known class; returns False for any other space."""
    kind: type[Any] = space.__class__
    is_space = any(base.__name__ == "Space" and belongs_to_a_family(base) for base in kind.__mro__)
    if not is_space or space.dtype is None or np.dtype(space.dtype).kind != "U":
        return False
    _warn(kind, "Text")
    message.min_length, message.max_length = 0, _MAX_LENGTH
    message.characters = _CHARACTERS
    return True


def _warn(kind: type[Any], name: str) -> None:
    warnings.warn(
        f"a space of class {type_name(kind)} arrives as a {name} at clients: what the class overrides stays on the "
        "server, and samples drawn by the client are those of the base class",
        stacklevel=2,
    )


# protobuf's parsers stop at 100 nested messages. A level of spaces takes at most three; the rest is
# for a generator's state below the innermost space and for the messages around the outermost.
_DEEPEST: Final = 26

#: Bytes of filled bounds in one space: two arrays of the largest message of a server with default settings.
_MAX_FILLED_BOUNDS: Final = 2**29

# What the constructors of both families raise for bad arguments.
_REFUSALS: Final = (AssertionError, MemoryError, OverflowError, TypeError, ValueError)


class Row(NamedTuple):
    """One kind of space.

    Attributes:
        name: Name of its class.
        field: Its field in `Space.kind`.
        encode: Writes a space into that field.
        decode: Builds a space from that field.
    """

    name: str
    field: str
    encode: Callable[[Any, Any, SpaceEncoding], None]
    decode: Callable[[Any, SpaceDecoding], Any]


class SpaceEncoding:
    """One call of `encode_space`: its depth in the tree, and the spaces written so far.

    Args:
        rows: The kinds, by class name.
    """

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._rows = rows
        self._depth = 0
        #: Number of each space by its id, and the space itself: without it another could get the same id.
        self._ended: dict[int, tuple[int, object]] = {}

    def space(self, space: Any, message: spaces_pb2.Space) -> None:
        """Writes one space and its subspaces.

        Raises:
            CodecError: It has no wire form.
        """
        earlier = self._ended.get(id(space))
        if earlier is not None:
            message.same_as, _ = earlier
            return
        given: object = space  # of any class
        kind = type(given)
        name = known_name(kind, self._rows)
        if name is None:
            if not encode_as_text(space, message.text):
                raise CodecError(
                    f"a space of class {type_name(kind)}",
                    f"one of {', '.join(self._rows)}",
                    "Describe it with these, in a wrapper that shows such a space.",
                )
            self._ended[id(space)] = len(self._ended), space
            return
        row = self._rows[name]
        part = getattr(message, row.field)
        part.SetInParent()
        self._depth = _deeper(self._depth)
        try:
            row.encode(space, part, self)
        except CodecError:
            raise
        except (TypeError, ValueError) as error:  # protobuf accepts 64-bit numbers and Unicode
            raise CodecError(
                f"a {row.name} that does not fit the wire ({error})", "64-bit numbers and Unicode"
            ) from error
        self._depth -= 1
        self._ended[id(space)] = len(self._ended), space
        if space._np_random is not None:
            located(".np_random", encode_random_state, space._np_random, message.np_random)


class SpaceDecoding:
    """One call of `decode_space`: its depth in the tree, and the spaces built so far.

    Args:
        rows: The kinds, by field.
        family: Classes to build spaces of.

    Attributes:
        allowance: Counts bytes for which tensors and the constructors of spaces may allocate arrays.
    """

    def __init__(self, rows: Mapping[str, Row], family: Family) -> None:
        self._rows = rows
        self._family = family
        self.allowance = FillAllowance(_MAX_FILLED_BOUNDS)
        self._depth = 0
        self._built: list[tuple[Any, np.random.Generator | None]] = []

    def space(self, message: spaces_pb2.Space) -> Any:
        """Builds one space and its subspaces.

        Raises:
            CodecError: The message breaks the contract.
        """
        field = message.WhichOneof("kind")
        if field is None:
            raise CodecError("of no kind", "one field of `Space.kind` to be set")
        if field == "same_as":
            number, built = message.same_as, self._built
            if number >= len(built):
                raise CodecError(f"the same as space {number}", f"one of the {len(built)} before")
            return built[number][0]
        self._depth = _deeper(self._depth)
        space = self._rows[field].decode(getattr(message, field), self)
        self._depth -= 1
        generator = None
        if message.HasField("np_random"):
            generator = located(".np_random", decode_random_state, message.np_random)
        self._built.append((space, generator))
        return space

    def make(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls the constructor of a space of the family.

        Raises:
            CodecError: The family has no such space, or refuses the arguments.
        """
        library = self._family.name
        kind = getattr(self._family.spaces, name, None)
        if kind is None:
            advice = (
                f"A newer {library} may have it; in envwire's own client each kind can be used."
            )
            raise CodecError(f"a {name}", f"a space that this {library} has", advice)
        try:
            return kind(*args, **kwargs)
        except _REFUSALS as error:
            raise CodecError(f"a {name} that {library} refuses ({error})", "a valid one") from error

    def tensor(self, message: values_pb2.Tensor) -> Array:
        """Reads bounds; filled ones count towards the budget of the whole space."""
        return decode_tensor(message, self.allowance)

    def key(self, message: values_pb2.Value) -> Any:
        """Reads a key of a Dict space."""
        key = decode_value(message, self._family, ".key", opaque=False, allowance=self.allowance)
        check_hashable(key)
        return key

    def restore_generators(self) -> None:
        """Sets all generators, last of all because some constructors seed their subspaces."""
        for space, generator in self._built:
            space._np_random = generator


def _deeper(depth: int) -> int:
    if depth == _DEEPEST:
        raise CodecError("nested too deeply", f"at most {_DEEPEST} levels", "Flatten it.")
    return depth + 1
