"""A Box mapped linearly onto other bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from envwire.envs._generic import Array
from envwire.envs.spaces import Box, Space
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
