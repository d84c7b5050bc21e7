"""Flattening elements to one-dimensional arrays, and the inverse."""
# ruff: noqa: ARG001 - each rule takes the arguments of the function that it is registered with

from __future__ import annotations

from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs.logger import require
from envwire.envs.spaces.batched_elements import iterate, stack
from envwire.envs.spaces.box import Box
from envwire.envs.spaces.dict import Dict
from envwire.envs.spaces.discrete import Discrete
from envwire.envs.spaces.flat_spaces import (
    flat_dtype,
    flatdim,
    flatten_space,
    join,
    no_rule,
)
from envwire.envs.spaces.graph import Graph, GraphInstance
from envwire.envs.spaces.multi_binary import MultiBinary
from envwire.envs.spaces.multi_discrete import MultiDiscrete
from envwire.envs.spaces.oneof import OneOf
from envwire.envs.spaces.sequence import Sequence
from envwire.envs.spaces.space import Space, parts_of
from envwire.envs.spaces.text import Text
from envwire.envs.spaces.tuple import Tuple

FlatType: TypeAlias = NDArray[Any] | dict[Any, Any] | tuple[Any, ...] | GraphInstance


@singledispatch
def flatten(space: Space[Any], x: Any) -> Any:
    """Flattens an element of a space.

    Args:
        space: The space.
        x: Its element.

    Returns:
        A new array of shape ``(flatdim(space),)``; or, if there is a `Sequence` or a `Graph`
        inside, ``x`` with its parts flattened. An element of ``flatten_space(space)`` either way.

    Raises:
        NotImplementedError: The class of the space has no rule.
    """
    raise no_rule("flatten", space)


@flatten.register(Box)
@flatten.register(MultiBinary)
def _flatten_array(space: Box | MultiBinary, x: Any) -> NDArray[Any]:
    return np.asarray(x, dtype=space.dtype).flatten()


@flatten.register(Discrete)
def _flatten_discrete(space: Discrete, x: Any) -> NDArray[Any]:
    one_hot = np.zeros(int(space.n), space.dtype)
    one_hot[int(x) - int(space.start)] = 1
    return one_hot


@flatten.register(MultiDiscrete)
def _flatten_multi_discrete(space: MultiDiscrete, x: Any) -> NDArray[Any]:
    one_hots = np.zeros(flatdim(space), space.dtype)
    offsets = np.asarray(x - space.start, np.int64).flatten()
    one_hots[_first_slots(space) + offsets] = 1
    return one_hots


@flatten.register(Text)
def _flatten_text(space: Text, x: str) -> NDArray[np.int32]:
    positions = np.full(space.max_length, len(space.character_list), np.int32)
    positions[: len(x)] = [space.character_index(char) for char in x]
    return positions


@flatten.register(Tuple)
def _flatten_tuple(space: Tuple, x: tuple[Any, ...]) -> NDArray[Any] | tuple[Any, ...]:
    flat = tuple(flatten(part, value) for part, value in zip(space.spaces, x, strict=True))
    return join(flat) if space.is_np_flattenable else flat


@flatten.register(Dict)
def _flatten_dict(space: Dict, x: dict[Any, Any]) -> NDArray[Any] | dict[Any, Any]:
    flat = {key: flatten(part, x[key]) for key, part in space.items()}
    return join(flat.values()) if space.is_np_flattenable else flat


@flatten.register(OneOf)
def _flatten_one_of(space: OneOf, x: tuple[Any, Any]) -> NDArray[Any]:
    position, value = x
    flat = flatten(space.spaces[position], value)
    padded = np.full(flatdim(space), flat[0] if flat.size else 0, flat_dtype(space))
    padded[0] = position
    padded[1 : 1 + flat.size] = flat
    return padded


@flatten.register(Sequence)
def _flatten_sequence(space: Sequence, x: Any) -> Any:
    items = iterate(space.stacked_feature_space, x) if space.stack else x
    flat = tuple(flatten(space.feature_space, item) for item in items)
    return stack(flatten_space(space.feature_space), flat) if space.stack else flat


@flatten.register(Graph)
def _flatten_graph(space: Graph, x: GraphInstance) -> GraphInstance:
    def flatten_batch(part: Space[Any], batched: Space[Any], batch: Any) -> Any:
        return stack(flatten_space(part), (flatten(part, item) for item in iterate(batched, batch)))

    nodes = flatten_batch(space.node_space, space.batch_node_space, x.nodes)
    edges = None if x.edges is None else flatten_batch(*space.edge_spaces(), x.edges)
    return GraphInstance(nodes, edges, x.edge_links)


@singledispatch
def unflatten(space: Space[Any], x: Any) -> Any:
    """Turns what `flatten` made back into an element.

    ``flatten_space(space)`` also has elements that no element of the space flattens to.

    Args:
        space: The space, not its flattened form.
        x: The flattened element.

    Raises:
        ValueError: ``x`` should be a one-hot vector and has no entry that is not zero.
        AssertionError: ``x`` is not of the form that `flatten` makes.
        NotImplementedError: The class of the space has no rule.
    """
    raise no_rule("unflatten", space)


@unflatten.register(Box)
@unflatten.register(MultiBinary)
def _unflatten_array(space: Box | MultiBinary, x: Any) -> NDArray[Any]:
    return np.reshape(np.asarray(x, dtype=space.dtype), space.shape)


@unflatten.register(Discrete)
def _unflatten_discrete(space: Discrete, x: NDArray[Any]) -> Any:
    return space.start + space.dtype.type(_hot_slots(space, x)[0])


@unflatten.register(MultiDiscrete)
def _unflatten_multi_discrete(space: MultiDiscrete, x: NDArray[Any]) -> NDArray[Any]:
    values = (_hot_slots(space, x) - _first_slots(space)).astype(space.dtype)
    return np.asarray(np.reshape(values, space.shape) + space.start)


@unflatten.register(Text)
def _unflatten_text(space: Text, x: NDArray[np.int32]) -> str:
    characters = space.character_list
    positions: list[int] = np.asarray(x, np.int64).tolist()
    return "".join(characters[i] for i in positions if i < len(characters))


@unflatten.register(Tuple)
def _unflatten_tuple(space: Tuple, x: Any) -> tuple[Any, ...]:
    flat = _split(space, x, tuple)
    return tuple(unflatten(part, value) for part, value in zip(space.spaces, flat, strict=True))


@unflatten.register(Dict)
def _unflatten_dict(space: Dict, x: Any) -> dict[Any, Any]:
    flat = _split(space, x, dict)
    values = flat if space.is_np_flattenable else [flat[key] for key in space]
    parts = zip(space.items(), values, strict=True)
    return {key: unflatten(part, value) for (key, part), value in parts}


@unflatten.register(OneOf)
def _unflatten_one_of(space: OneOf, x: NDArray[Any]) -> tuple[np.int64, Any]:
    position = np.int64(x[0])
    part = space.spaces[position]
    return position, unflatten(part, x[1 : 1 + flatdim(part)].astype(flat_dtype(part)))


@unflatten.register(Sequence)
def _unflatten_sequence(space: Sequence, x: Any) -> Any:
    items = iterate(flatten_space(space.feature_space), x) if space.stack else x
    elements = tuple(unflatten(space.feature_space, item) for item in items)
    return stack(space.feature_space, elements) if space.stack else elements


@unflatten.register(Graph)
def _unflatten_graph(space: Graph, x: GraphInstance) -> GraphInstance:
    def unflatten_batch(part: Space[Any], batch: Any) -> Any:
        items = iterate(flatten_space(part), batch)
        return stack(part, (unflatten(part, item) for item in items))

    nodes = unflatten_batch(space.node_space, x.nodes)
    edges = None if x.edges is None else unflatten_batch(space.edge_spaces()[0], x.edges)
    return GraphInstance(nodes, edges, x.edge_links)


def _split(space: Tuple | Dict, x: Any, form: type[Any]) -> Any:
    """Returns the flat form of each part, cut from one array if the space has a fixed size."""
    expected = np.ndarray if space.is_np_flattenable else form
    require(
        isinstance(x, expected),
        f"An element of {space} flattens to a {expected.__name__}, got a {type(x).__name__}.",
    )
    if not space.is_np_flattenable:
        return x
    sizes = [flatdim(part) for part in parts_of(space)]
    return np.split(x, np.cumsum(sizes)[:-1]) if sizes else []


def _first_slots(space: MultiDiscrete) -> NDArray[Any]:
    """Returns where the one-hot vector of each entry starts."""
    counts = np.asarray(space.nvec, np.int64).flatten()
    return np.cumsum(counts) - counts


def _hot_slots(space: Space[Any], x: NDArray[Any]) -> NDArray[Any]:
    (slots,) = np.nonzero(x)
    if slots.size == 0:
        raise ValueError(
            f"Not every element of a flattened space can be unflattened: {x} has no entry that "
            f"says which element of {space} it is."
        )
    return slots
