"""Checks of arguments: a Box's dtype, shape and bounds, and the masks and probabilities that `sample` takes."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from envwire.envs import logger
from envwire.envs.logger import require
from envwire.envs.type_guards import is_iterable

Bound: TypeAlias = float | np.floating[Any] | np.integer[Any] | NDArray[Any]
Shape: TypeAlias = tuple[int, ...]

#: The limits of one side, and where they are finite.
Limits: TypeAlias = "tuple[NDArray[Any], NDArray[np.bool_]]"


class Side(NamedTuple):
    """What differs between lower and upper bounds."""

    name: Literal["low", "high"]
    infinity: float
    limit: int  # the index of this side in a pair (minimum, maximum)


LOW = Side("low", -np.inf, 0)
HIGH = Side("high", np.inf, 1)


def check_dtype(dtype: DTypeLike | None) -> np.dtype[Any]:
    """Returns the dtype if a Box can have it, or raises `ValueError`."""
    if dtype is None:
        raise ValueError("A Box needs a dtype, got None.")
    checked = np.dtype(dtype)
    if checked.kind not in "biuf":
        raise ValueError(f"A Box's dtype must be boolean, integer or floating, got {checked}.")
    return checked


def find_shape(shape: object, low: Bound, high: Bound) -> Shape:
    """Returns the shape that was asked for, or else that of the bounds.

    Raises:
        TypeError: ``shape`` is not a sequence of integers.
        ValueError: The bounds have different shapes.
    """
    if shape is not None:
        return _check_shape(shape)
    shapes = {bound.shape for bound in (low, high) if isinstance(bound, np.ndarray)}
    if len(shapes) > 1:
        raise ValueError(f"The shapes of low and high must agree, got {sorted(shapes)}.")
    return shapes.pop() if shapes else (1,)


def _check_shape(shape: object) -> Shape:
    dims: tuple[Any, ...] = tuple(shape) if is_iterable(shape) else (None,)
    if not all(isinstance(dim, (int, np.integer)) for dim in dims):
        raise TypeError(f"A Box's shape must be a sequence of integers, got {shape!r}.")
    return tuple(int(dim) for dim in dims)


@cache
def limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Returns the least and the greatest finite value, as Python numbers that compare exactly.

    Cached, because calling `numpy.iinfo` at every step is slow.
    """
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def cast_bound(side: Side, bound: Bound, shape: Shape, dtype: np.dtype[Any]) -> Limits:
    """Returns the bounds as an array of ``shape`` and ``dtype``, and where they are finite."""
    if isinstance(bound, np.ndarray):
        return _cast_array(side, bound, shape, dtype)
    if not _is_number(bound):
        raise ValueError(
            f"A Box's {side.name} must be an integer, a float or a numpy array, "
            f"got {bound!r} of type {type(bound).__name__}."
        )
    return _cast_number(side, bound, shape, dtype)


def _is_number(value: object) -> bool:
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool)


def _cast_number(side: Side, bound: Any, shape: Shape, dtype: np.dtype[Any]) -> Limits:
    infinite = bool(bound == side.infinity)
    if infinite:
        bound = _stand_in(side, dtype)
    else:
        _check_range(side, bound, dtype)
    return np.full(shape, bound, dtype), np.full(shape, not infinite)


def _cast_array(side: Side, bound: NDArray[Any], shape: Shape, dtype: np.dtype[Any]) -> Limits:
    _check_bound_array(side, bound, shape, dtype)
    if bound.dtype == dtype and dtype.kind != "f":  # nothing to check, as for many pixels
        return np.array(bound), np.ones(shape, np.bool_)
    infinite = np.asarray(bound == side.infinity)
    finite = np.where(infinite, np.zeros_like(bound), bound)
    for extreme in (finite.min(), finite.max()) if finite.size else ():
        _check_range(side, extreme, dtype)
    values = finite.astype(dtype)
    if infinite.any():
        values[infinite] = _stand_in(side, dtype)
    return values, np.asarray(~infinite)


def _check_bound_array(side: Side, bound: NDArray[Any], shape: Shape, dtype: np.dtype[Any]) -> None:
    if bound.dtype.kind not in "biuf":
        raise ValueError(
            f"A Box's {side.name} must be boolean, integer or floating, got dtype {bound.dtype}."
        )
    if bound.shape != shape:
        raise ValueError(
            f"The shape of a Box's {side.name} must be that of the Box, {shape}; got {bound.shape}."
        )
    if (
        bound.dtype.kind == dtype.kind == "f"
        and np.finfo(dtype).precision < np.finfo(bound.dtype).precision
    ):
        logger.warn(
            f"Box {side.name}'s precision lowered by casting to {dtype}: it was {bound.dtype}."
        )


def _check_range(side: Side, bound: Any, dtype: np.dtype[Any]) -> None:
    """Refuses what the dtype cannot hold, and NaN."""
    value: Any = np.asarray(bound).item()  # a Python number, which compares exactly
    least, greatest = limits(dtype)
    if dtype.kind == "f":  # which also holds the infinity of the other side
        least, greatest = (least, np.inf) if side is LOW else (-np.inf, greatest)
    if not least <= value <= greatest:
        raise ValueError(
            f"A Box's {side.name} must be in the range of {dtype}, {least} to {greatest}; "
            f"got {bound}."
        )


def _stand_in(side: Side, dtype: np.dtype[Any]) -> float:
    """Returns what an infinite bound becomes in ``dtype``."""
    if dtype.kind == "f":
        return side.infinity
    if dtype.kind == "i":
        return limits(dtype)[side.limit]
    raise ValueError(
        f"A Box of {dtype} cannot have {side.name}={side.infinity}; use a signed or floating dtype."
    )


MaskKind: TypeAlias = Literal["mask", "probability"]

#: The required dtype of a mask and of probabilities.
DTYPES: dict[MaskKind, type[np.generic]] = {"mask": np.int8, "probability": np.float64}


def choose(mask: Any | None, probability: Any | None) -> tuple[MaskKind, Any | None]:
    """Returns which of the two is given, by name, and its value.

    Raises:
        ValueError: Both are given.
    """
    if mask is not None and probability is not None:
        raise ValueError(
            "sample() takes a mask or a probability, not both; "
            f"got mask={mask} and probability={probability}."
        )
    return ("mask", mask) if probability is None else ("probability", probability)


def check_array(kind: MaskKind, mask: Any, shape: tuple[int, ...]) -> None:
    """Requires an array of the right dtype and of ``shape``."""
    require(
        isinstance(mask, np.ndarray),
        f"The {kind} must be a numpy array, got {mask!r} of type {type(mask).__name__}.",
    )
    require(
        mask.dtype == DTYPES[kind],
        f"The {kind} must have dtype {DTYPES[kind].__name__}, got {mask.dtype}.",
    )
    require(mask.shape == shape, f"The {kind} must have shape {shape}, got {mask.shape}.")


def check_values(mask: Any, allowed: tuple[int, ...]) -> None:
    """Requires every entry of a mask to be one of ``allowed``."""
    require(
        np.isin(mask, allowed).all(), f"The entries of a mask must be among {allowed}, got {mask}."
    )


def check_probabilities(probability: Any) -> None:
    """Requires every entry to be in [0, 1]."""
    require(
        ((probability >= 0) & (probability <= 1)).all(),
        f"Probabilities must be between 0 and 1, got {probability}.",
    )


def check_distribution(probability: Any) -> None:
    """Requires the entries to be probabilities that sum to 1."""
    check_probabilities(probability)
    total = np.sum(probability)
    require(np.isclose(total, 1), f"Probabilities must sum to 1, their sum is {total}.")


def check_parts(kind: MaskKind, mask: Any, count: int) -> None:
    """Requires a tuple with one mask, or None, for each of ``count`` parts."""
    require(
        isinstance(mask, tuple),
        f"The {kind} must be a tuple with one entry per part, got {type(mask).__name__}.",
    )
    require(
        len(mask) == count,
        f"The {kind} must have {count} entries, one per part, got {len(mask)}.",
    )
