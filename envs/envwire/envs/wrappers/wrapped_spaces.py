"""Spaces that wrappers make of the wrapped environment's: rescaled, cut into cells, filtered, of another dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Array
from envwire.envs.core import Env
from envwire.envs.spaces import Box, Discrete, MultiDiscrete, Space
from envwire.envs.type_guards import is_array, is_integer

#: A bound of a Box: one number for all entries, or an array.
Bound: TypeAlias = "float | np.floating[Any] | np.integer[Any] | Array"


def require_box(space: Space[Any], wrapper: object) -> Box:
    """Returns ``space`` if it is a Box.

    Raises:
        TypeError: It is something else; the message names the wrapper.
    """
    if not isinstance(space, Box):
        raise TypeError(f"{type(wrapper).__name__} needs a Box, got {space}")
    return space


def rescale_box(
    box: Box, new_min: Bound, new_max: Bound
) -> tuple[Box, Callable[[Array], Array], Callable[[Array], Array]]:
    """Returns a Box with new bounds, the map from ``box`` to it, and the map back.

    Args:
        box: The Box to map.
        new_min: The lower bound of the new Box, a number or an array of the Box's shape.
        new_max: Its upper bound.

    Raises:
        TypeError: ``box`` is not a Box, or a bound is not a number.
        ValueError: A bound has another shape, is infinite where the Box is not (or the other way
            round), or the lower one exceeds the upper.
    """
    if not isinstance(box, Box):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"Expected a Box, got {type(box)}")
    low = _bound("new_min", new_min, box.low)
    high = _bound("new_max", new_max, box.high)
    for names, lower, upper in (("new_min, new_max", low, high), ("low, high", box.low, box.high)):
        if not np.all(lower <= upper):
            raise ValueError(f"Expected ordered bounds, got {names} = {lower}, {upper}")
    gradient, intercept = _line(box, low, high)

    def forward(value: Array) -> Array:
        return gradient * value + intercept

    def backward(value: Array) -> Array:
        return (value - intercept) / gradient

    return Box(low, high, shape=box.shape, dtype=box.dtype), forward, backward


def _bound(name: str, value: Any, old: Array) -> Array:
    """The new bound as an array of the old one's shape, infinite exactly where the old one is."""
    if not is_array(value):
        if not (is_integer(value) or isinstance(value, float | np.floating)):
            raise TypeError(f"Expected {name} to be a number or an array, got {type(value)}")
        value = np.full(old.shape, value)
    bound: Array = value
    if bound.shape != old.shape:
        raise ValueError(f"Expected {name} of shape {old.shape}, got {bound.shape}")
    if not np.all((bound == old)[np.isinf(bound) | np.isinf(old)]):
        raise ValueError(f"{name} must keep the Box's infinite bounds {old}, got {bound}")
    return bound


def _line(box: Box, low: Array, high: Array) -> tuple[Array, Array]:
    """The gradient and the intercept of the map, in the Box's dtype.

    The width is a long double: that of a Box over all of float64 is not a float64.
    """
    below, above = np.isfinite(low), np.isfinite(high)
    both = below & above
    width = box.high[both].astype(np.longdouble) - box.low[both].astype(np.longdouble)
    gradient = np.ones(box.shape, dtype=box.dtype)
    gradient[both] = (high[both] - low[both]) / width
    intercept = np.zeros(box.shape, dtype=box.dtype)
    intercept[above] = high[above] - box.high[above]
    intercept[below] = gradient[below] * -box.low[below] + low[below]
    return gradient, intercept


class BinGrid:
    """The cells of a Box.

    Attributes:
        low: The Box's lower bounds, flat.
        high: Its upper bounds, flat.
        bins: The number of bins of each dimension.
        edges: The ``bins + 1`` edges of each dimension.

    Raises:
        ValueError: The Box is not bounded, or ``bins`` is not one number or one per dimension.
    """

    def __init__(self, box: Box, bins: int | tuple[int, ...]) -> None:
        self.low: NDArray[Any] = np.ravel(box.low)
        self.high: NDArray[Any] = np.ravel(box.high)
        if np.any(np.isinf(self.low) | np.isinf(self.high)):
            raise ValueError(f"Only a bounded Box can be cut into bins, got {box}")
        counts = [bins] * self.low.size if isinstance(bins, int) else bins
        if len(counts) != self.low.size:
            raise ValueError(f"Expected {self.low.size} numbers of bins, got {bins}")
        self.bins: NDArray[np.int64] = np.array(counts)
        self._counts: tuple[int, ...] = tuple(counts)
        sides = zip(self.low, self.high, self._counts, strict=True)
        #: In the dtype of the limits.
        self.edges: list[NDArray[Any]] = [np.linspace(low, high, n + 1) for low, high, n in sides]

    def space(self, multidiscrete: bool) -> MultiDiscrete | Discrete:
        """The space of cells: of a bin per dimension, or of one number for all."""
        return MultiDiscrete(self.bins) if multidiscrete else Discrete(int(np.prod(self.bins)))

    def number(self, cell: Sequence[int]) -> Any:
        """The number of a cell given as one bin per dimension, the last dimension fastest."""
        return np.ravel_multi_index(tuple(cell), self._counts)

    def cell(self, number: int) -> NDArray[np.int64]:
        """The bin of each dimension of the cell with this number."""
        cell = np.unravel_index(number, self._counts)
        return np.array(cell, dtype=np.int64)


def filter_dict(space: spaces.Dict, keys: Sequence[Any]) -> tuple[Space[Any], Callable[[Any], Any]]:
    """Returns the Dict of some of a Dict's entries, and the map of observations to it.

    Raises:
        TypeError: A key is not a str.
        ValueError: A key is not in the space, or there are none.
    """
    if not all(isinstance(key, str) for key in keys):
        raise TypeError(f"The filter_keys of a Dict must be str, got {keys}")
    _check_keys(space, keys, [key for key in keys if key not in space.spaces])
    parts = {key: space.spaces[key] for key in keys}
    kept = spaces.Dict(parts, sort_keys=space.sort_keys)
    return kept, lambda observation: {key: observation[key] for key in keys}


def filter_tuple(
    space: spaces.Tuple, keys: Sequence[Any]
) -> tuple[Space[Any], Callable[[Any], Any]]:
    """Returns the Tuple of some of a Tuple's entries, and the map of observations to it.

    Raises:
        TypeError: An index is not an int.
        ValueError: An index occurs twice or is not in the space, or there are none.
    """
    if not all(isinstance(key, int) for key in keys):
        raise TypeError(f"The filter_keys of a Tuple must be int, got {keys}")
    if len(set(keys)) != len(keys):
        raise ValueError(f"The filter_keys of a Tuple must differ, got {keys}")
    _check_keys(space, keys, [key for key in keys if key >= len(space.spaces)])
    parts: list[Space[Any]] = [space.spaces[key] for key in keys]
    return spaces.Tuple(parts), lambda observation: tuple(observation[key] for key in keys)


def _check_keys(space: Space[Any], keys: Sequence[Any], missing: list[Any]) -> None:
    if missing:
        raise ValueError(f"The filter_keys {missing} are not in the observation space {space}")
    if not keys:
        raise ValueError("filter_keys is empty, so that nothing of the observation would be left")


def with_dtype(space: Space[Any], dtype: Any) -> Space[Any]:
    """Returns the space of the same observations in another dtype.

    Raises:
        TypeError: The space is not a Box, Discrete, MultiDiscrete or MultiBinary.
    """
    if isinstance(space, spaces.Box):
        return spaces.Box(space.low, space.high, shape=space.shape, dtype=dtype)
    if isinstance(space, spaces.Discrete):
        return spaces.Box(space.start, space.start + space.n - 1, shape=(), dtype=dtype)
    if isinstance(space, spaces.MultiDiscrete):
        return spaces.MultiDiscrete(space.nvec, dtype=dtype, start=space.start)
    if isinstance(space, spaces.MultiBinary):
        return spaces.Box(0, 1, shape=space.shape, dtype=dtype)
    raise TypeError(
        f"DtypeObservation needs a Box, Discrete, MultiDiscrete or MultiBinary, got {space}"
    )


def pixel_space(env: Env[Any, Any]) -> spaces.Box:
    """Returns the space of the frames that ``env`` renders; resets ``env`` to see one.

    Raises:
        ValueError: The environment does not render.
        TypeError: It renders no arrays.
    """
    if env.render_mode in (None, "human"):
        raise ValueError(f"AddRenderObservation needs frames, but render_mode={env.render_mode!r}")
    env.reset()
    frame: Any = env.render()
    if not is_array(frame):
        raise TypeError(f"AddRenderObservation needs frames that are arrays, got {type(frame)}")
    return spaces.Box(0, 255, shape=frame.shape, dtype=np.uint8)
