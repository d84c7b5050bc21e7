"""Encodes spaces of unknown classes as the known space that they derive from, with a warning.

That space describes the same values. Overridden methods such as `sample` and `contains` are lost: code is not sent.
"""

from __future__ import annotations

import string
import warnings
from collections.abc import Container
from typing import Any, Final

import numpy as np

from envwire.codec.family import belongs_to_a_family
from envwire.codec.values.opaque import type_name
from envwire.v1 import spaces_pb2

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
