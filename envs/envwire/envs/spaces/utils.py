"""Functions over spaces and their elements: flattening, and comparing spaces."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from envwire.envs.spaces.dict import Dict
from envwire.envs.spaces.flat_elements import FlatType, flatten, unflatten
from envwire.envs.spaces.flat_spaces import flatdim, flatten_space
from envwire.envs.spaces.graph import Graph
from envwire.envs.spaces.oneof import OneOf
from envwire.envs.spaces.sequence import Sequence
from envwire.envs.spaces.space import NumericSpace, Space
from envwire.envs.spaces.text import Text
from envwire.envs.spaces.tuple import Tuple


@singledispatch
def is_space_dtype_shape_equiv(space_1: Space[Any], space_2: Space[Any]) -> bool:
    """Returns whether two spaces differ at most in their bounds, counts and starts.

    Environments with such spaces can share a vector environment.

    Raises:
        NotImplementedError: The class of ``space_1`` has no rule.
        TypeError: One of them is not a space.
    """
    for space in (space_1, space_2):
        if not isinstance(space, Space):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise TypeError(f"Only spaces can be compared, got {space!r}.")
    name = type(space_1).__name__
    raise NotImplementedError(
        f"is_space_dtype_shape_equiv has no rule for {name}; register one with its register method."
    )


@is_space_dtype_shape_equiv.register(NumericSpace)
def _numeric(space_1: NumericSpace[Any], space_2: Space[Any]) -> bool:
    return (
        type(space_1) is type(space_2)
        and space_1.shape == space_2.shape
        and space_1.dtype == space_2.dtype
    )


@is_space_dtype_shape_equiv.register(Text)
def _text(space_1: Text, space_2: object) -> bool:
    return (
        isinstance(space_2, Text)
        and space_1.max_length == space_2.max_length
        and space_1.character_set == space_2.character_set
    )


@is_space_dtype_shape_equiv.register(Dict)
def _dict(space_1: Dict, space_2: object) -> bool:
    return (
        isinstance(space_2, Dict)
        and space_1.keys() == space_2.keys()
        and all(is_space_dtype_shape_equiv(part, space_2[key]) for key, part in space_1.items())
    )


@is_space_dtype_shape_equiv.register(Tuple)
@is_space_dtype_shape_equiv.register(OneOf)
def _parts(space_1: Tuple | OneOf, space_2: object) -> bool:
    kind = Tuple if isinstance(space_1, Tuple) else OneOf
    return isinstance(space_2, kind) and _all_equivalent(space_1.spaces, space_2.spaces)


@is_space_dtype_shape_equiv.register(Sequence)
def _sequence(space_1: Sequence, space_2: object) -> bool:
    return (
        isinstance(space_2, Sequence)
        and space_1.stack == space_2.stack
        and is_space_dtype_shape_equiv(space_1.feature_space, space_2.feature_space)
    )


@is_space_dtype_shape_equiv.register(Graph)
def _graph(space_1: Graph, space_2: object) -> bool:
    return isinstance(space_2, Graph) and _all_equivalent(_ends(space_1), _ends(space_2))


def _all_equivalent(parts_1: tuple[Space[Any], ...], parts_2: tuple[Space[Any], ...]) -> bool:
    return len(parts_1) == len(parts_2) and all(
        is_space_dtype_shape_equiv(*pair) for pair in zip(parts_1, parts_2, strict=True)
    )


def _ends(space: Graph) -> tuple[Space[Any], ...]:
    return tuple(part for part in (space.node_space, space.edge_space) if part is not None)


__all__ = [
    "FlatType",
    "flatdim",
    "flatten",
    "flatten_space",
    "is_space_dtype_shape_equiv",
    "unflatten",
]
