"""Encodes spaces as trees of messages, and decodes them to the classes of either family."""

from __future__ import annotations

from typing import Any, Final

from envwire.codec.errors.codec_error import located
from envwire.codec.family import Family
from envwire.codec.spaces.context import SpaceDecoding, SpaceEncoding
from envwire.codec.spaces.kinds import ROWS
from envwire.v1 import spaces_pb2

_BY_NAME: Final = {row.name: row for row in ROWS}
_BY_FIELD: Final = {row.field: row for row in ROWS}


def encode_space(space: Any, message: spaces_pb2.Space, path: str = "space") -> None:
    """Writes a space of either family, with the generators that it and its subspaces have already.

    Args:
        space: A space of one of the ten kinds.
        message: Filled in place.
        path: Name of the space in error messages.

    Raises:
        CodecError: Its class is unknown, or its bounds have no wire form.
    """
    located(path, SpaceEncoding(_BY_NAME).space, space, message)


def decode_space(message: spaces_pb2.Space, family: Family, path: str = "space") -> Any:
    """Builds a space that equals the one sent, and prints and samples like it.

    Args:
        message: The message.
        family: Classes to build spaces of.
        path: Name of the space in error messages.

    Raises:
        CodecError: The message breaks the contract, or the family has no such space.
    """
    decoding = SpaceDecoding(_BY_FIELD, family)
    space = located(path, decoding.space, message)
    decoding.restore_generators()
    return space
