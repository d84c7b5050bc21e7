"""The zero of a space, or the element nearest to zero: the padding before the first observation."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from envwire.envs import spaces
from envwire.envs.error import CustomSpaceError
from envwire.envs.spaces.space import map_parts

__all__ = ["create_zero_array"]


@singledispatch
def create_zero_array(space: Any) -> Any:
    """Returns the zero of ``space``; register a function for a space of your own.

    Raises:
        CustomSpaceError: No function is registered for this kind of space.
        TypeError: This is not a space.
    """
    if isinstance(space, spaces.Space):
        raise CustomSpaceError(
            f"There is no zero for {space}; register one with create_zero_array.register"
        )
    raise TypeError(f"Expected a Space, got {space}")


@create_zero_array.register
def _(space: spaces.Box) -> Any:
    zero = np.zeros(space.shape, dtype=space.dtype)
    above = np.where(space.low > 0, space.low, zero)
    return np.where(space.high < 0, space.high, above)


@create_zero_array.register
def _(space: spaces.Discrete) -> Any:
    return space.start


@create_zero_array.register
def _(space: spaces.MultiDiscrete) -> Any:
    return np.array(space.start, dtype=space.dtype)


@create_zero_array.register
def _(space: spaces.MultiBinary) -> Any:
    return np.zeros(space.shape, dtype=space.dtype)


@create_zero_array.register
def _(space: spaces.Text) -> str:
    return space.characters[0] * space.min_length


@create_zero_array.register(spaces.Tuple)
@create_zero_array.register(spaces.Dict)
def _(space: spaces.Tuple | spaces.Dict) -> Any:
    return map_parts(space, lambda part, _: create_zero_array(part))


@create_zero_array.register
def _(space: spaces.OneOf) -> tuple[int, Any]:
    return 0, create_zero_array(space.spaces[0])


@create_zero_array.register
def _(space: spaces.Sequence) -> Any:
    return create_zero_array(space.stacked_feature_space) if space.stack else ()


@create_zero_array.register
def _(space: spaces.Graph) -> spaces.GraphInstance:
    nodes = create_zero_array(space.batch_node_space)
    if space.batch_edge_space is None:
        return spaces.GraphInstance(nodes, None, None)
    edges = create_zero_array(space.batch_edge_space)
    return spaces.GraphInstance(nodes, edges, np.zeros((1, 2), dtype=np.int64))
