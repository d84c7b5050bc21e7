"""The flat form of a space: the length, the dtype and the bounds of its flattened elements.

A space whose elements have a fixed size flattens to a one-dimensional `Box`: numbers become one-hot
vectors, strings the positions of their characters, and parts are joined end to end. A space with
a `Sequence` or a `Graph` inside keeps its form, and what can be flattened in it is.
"""
# ruff: noqa: ARG001 - each rule takes the arguments of the function that it is registered with

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs.spaces.box import Box
from envwire.envs.spaces.dict import Dict
from envwire.envs.spaces.discrete import Discrete
from envwire.envs.spaces.graph import Graph
from envwire.envs.spaces.multi_binary import MultiBinary
from envwire.envs.spaces.multi_discrete import MultiDiscrete
from envwire.envs.spaces.oneof import OneOf
from envwire.envs.spaces.sequence import Sequence
from envwire.envs.spaces.space import Space, parts_of
from envwire.envs.spaces.text import Text
from envwire.envs.spaces.tuple import Tuple


@singledispatch
def flatdim(space: Space[Any]) -> int:
    """Returns the length of the space's flat arrays.

    Raises:
        ValueError: The elements have no fixed size: there is a `Sequence` or a `Graph` inside.
        NotImplementedError: The class of the space has no rule.
    """
    _require_fixed_size(space)
    raise no_rule("flatdim", space)


@flatdim.register(Box)
@flatdim.register(MultiBinary)
def _flatdim_array(space: Box | MultiBinary) -> int:
    return int(np.prod(space.shape))


@flatdim.register(Discrete)
def _flatdim_discrete(space: Discrete) -> int:
    return int(space.n)


@flatdim.register(MultiDiscrete)
def _flatdim_multi_discrete(space: MultiDiscrete) -> int:
    return int(np.sum(space.nvec))


@flatdim.register(Text)
def _flatdim_text(space: Text) -> int:
    return space.max_length


@flatdim.register(Tuple)
@flatdim.register(Dict)
def _flatdim_parts(space: Tuple | Dict) -> int:
    _require_fixed_size(space)
    return sum(flatdim(part) for part in parts_of(space))


@flatdim.register(OneOf)
def _flatdim_one_of(space: OneOf) -> int:
    return 1 + max(flatdim(part) for part in space.spaces)


@singledispatch
def flat_dtype(space: Space[Any]) -> np.dtype[Any]:
    """Returns the dtype of the space's flat arrays.

    Raises:
        ValueError: The elements have no fixed size: there is a `Sequence` or a `Graph` inside.
    """
    if space.dtype is None:
        raise ValueError(f"The elements of {space} have no dtype, so they cannot be flattened.")
    return space.dtype


@flat_dtype.register(Text)
def _flat_dtype_text(space: Text) -> np.dtype[Any]:
    return np.dtype(np.int32)


@flat_dtype.register(Tuple)
@flat_dtype.register(Dict)
def _flat_dtype_parts(space: Tuple | Dict) -> np.dtype[Any]:
    return np.result_type(bool, *(flat_dtype(part) for part in parts_of(space)))


@flat_dtype.register(OneOf)
def _flat_dtype_one_of(space: OneOf) -> np.dtype[Any]:
    dtype = np.result_type(*(flat_dtype(part) for part in space.spaces))
    last = len(space.spaces) - 1  # the position of the part comes first in the array
    greatest = {"f": np.inf, "b": 1}.get(dtype.kind) or np.iinfo(dtype).max
    return dtype if last <= greatest else np.result_type(dtype, np.min_scalar_type(last))


@singledispatch
def flatten_space(space: Space[Any]) -> Any:
    """Makes the space that the flattened elements belong to.

    Returns:
        A one-dimensional `Box` of length ``flatdim(space)``; or, if there is a `Sequence` or a
        `Graph` inside, a space of the same form with its parts flattened.

    Raises:
        NotImplementedError: The class of the space has no rule.
    """
    raise no_rule("flatten_space", space)


@flatten_space.register(Box)
def _flatten_space_box(space: Box) -> Box:
    return Box(space.low.flatten(), space.high.flatten(), dtype=space.dtype)


@flatten_space.register(Discrete)
@flatten_space.register(MultiBinary)
@flatten_space.register(MultiDiscrete)
def _flatten_space_one_hot(space: Discrete | MultiBinary | MultiDiscrete) -> Box:
    return Box(0, 1, (flatdim(space),), space.dtype)


@flatten_space.register(Text)
def _flatten_space_text(space: Text) -> Box:
    return Box(0, len(space.character_list), (space.max_length,), np.int32)


@flatten_space.register(Tuple)
def _flatten_space_tuple(space: Tuple) -> Box | Tuple:
    flat = [flatten_space(part) for part in space]
    return _join_boxes(flat) if space.is_np_flattenable else Tuple(flat)


@flatten_space.register(Dict)
def _flatten_space_dict(space: Dict) -> Box | Dict:
    flat = {key: flatten_space(part) for key, part in space.items()}
    if space.is_np_flattenable:
        return _join_boxes(flat.values())
    return Dict(flat, sort_keys=space.sort_keys)


@flatten_space.register(OneOf)
def _flatten_space_one_of(space: OneOf) -> Box:
    size, dtype = flatdim(space), flat_dtype(space)
    values = _join_boxes(flatten_space(part) for part in space.spaces)
    low = np.full(size, values.low.min() if size > 1 else 0, dtype)
    high = np.full(size, values.high.max() if size > 1 else 0, dtype)
    low[0], high[0] = 0, len(space.spaces) - 1
    return Box(low, high, dtype=dtype)


@flatten_space.register(Sequence)
def _flatten_space_sequence(space: Sequence) -> Sequence:
    return Sequence(flatten_space(space.feature_space), stack=space.stack)


@flatten_space.register(Graph)
def _flatten_space_graph(space: Graph) -> Graph:
    edge_space = None if space.edge_space is None else flatten_space(space.edge_space)
    return Graph(flatten_space(space.node_space), edge_space)


def join(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Joins arrays end to end; without any, the result is an empty array of bool."""
    return np.concatenate([np.empty(0, bool), *arrays])


def _join_boxes(boxes: Iterable[Box]) -> Box:
    parts = list(boxes)
    low, high = join(box.low for box in parts), join(box.high for box in parts)
    return Box(low, high, dtype=low.dtype)


def _require_fixed_size(space: Space[Any]) -> None:
    if not space.is_np_flattenable:
        raise ValueError(
            f"{space} does not flatten to an array: there is a Sequence or a Graph inside, whose "
            "elements have no fixed size."
        )


def no_rule(function: str, space: object) -> NotImplementedError:
    """Makes the error for a class of space that a function has no rule for."""
    name = type(space).__name__
    return NotImplementedError(
        f"{function} has no rule for {name}; add one with {function}.register({name})."
    )
