"""Functions that wrappers share; the module path is Gymnasium's."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from envwire.envs import spaces
from envwire.envs._env import Array
from envwire.envs.error import CustomSpaceError, InvalidBound, InvalidProbability
from envwire.envs.spaces.space import map_parts
from envwire.envs.type_guards import is_integer
from envwire.envs.wrappers.wrapped_spaces import rescale_box

__all__ = [
    "RunningMeanStd",
    "create_zero_array",
    "require_at_least",
    "require_discount",
    "require_positive",
    "require_probability",
    "rescale_box",
    "update_mean_var_count_from_moments",
]


def require_at_least(least: int, name: str, value: Any) -> None:
    """Raises `TypeError` unless ``value`` is an integer, and `ValueError` if it is below ``least``."""
    if not is_integer(value):
        raise TypeError(f"{name} must be an integer, got {type(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def require_positive(name: str, value: float) -> None:
    """Raises `InvalidBound` unless ``value`` is above 0."""
    if value <= 0:
        raise InvalidBound(f"{name} must be positive, got {value}")


def require_discount(gamma: float) -> None:
    """Raises `InvalidBound` unless ``gamma`` is in [0, 1]."""
    if not 0 <= gamma <= 1:
        raise InvalidBound(f"gamma must be in [0, 1], got {gamma}")


def require_probability(name: str, value: float) -> None:
    """Raises `InvalidProbability` unless ``value`` is in [0, 1)."""
    if not 0 <= value < 1:
        raise InvalidProbability(f"{name} must be in [0, 1), got {value}")


class RunningMeanStd:
    """A running mean and variance, by the parallel algorithm of Chan, Golub and LeVeque (1979).

    Args:
        epsilon: The count to begin with; it keeps the first division from being by zero.
        shape: The shape of one value.
        dtype: The dtype to count in.

    Attributes:
        mean: Of that shape and dtype.
        var: Of that shape and dtype.
        count: How many values there were.
    """

    def __init__(
        self, epsilon: float = 1e-4, shape: tuple[int, ...] = (), dtype: DTypeLike = np.float64
    ) -> None:
        self.mean: Array = np.zeros(shape, dtype=dtype)
        self.var: Array = np.ones(shape, dtype=dtype)
        self.count: float = epsilon

    def update(self, x: Array) -> None:
        """Counts a batch of values, one per element of the first axis."""
        self.update_from_moments(np.mean(x, axis=0), np.var(x, axis=0), x.shape[0])

    def update_from_moments(self, batch_mean: Array, batch_var: Array, batch_count: float) -> None:
        """Counts a batch known by its mean, variance and size."""
        self.mean, self.var, self.count = update_mean_var_count_from_moments(
            self.mean, self.var, self.count, batch_mean, batch_var, batch_count
        )


def update_mean_var_count_from_moments(
    mean: Array,
    var: Array,
    count: float,
    batch_mean: Array,
    batch_var: Array,
    batch_count: float,
) -> tuple[Array, Array, float]:
    """Returns the mean, variance and size of two sets together, each known by these."""
    total = count + batch_count
    delta = batch_mean - mean
    squares = var * count + batch_var * batch_count
    squares = squares + np.square(delta) * count * batch_count / total
    return mean + delta * batch_count / total, squares / total, total


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
