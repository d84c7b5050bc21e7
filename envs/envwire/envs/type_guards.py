"""Type guards: checks of a value's class that narrow its type for type checkers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray


def is_integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Returns whether ``value`` is a Python or numpy integer; a bool is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_numpy(value: object) -> TypeGuard[NDArray[Any]]:
    """Returns whether ``value`` is a numpy array or a scalar, which has an array's attributes."""
    return isinstance(value, (np.ndarray, np.generic))


def is_array(value: object) -> TypeGuard[NDArray[Any]]:
    """Returns whether ``value`` is a numpy array."""
    return isinstance(value, np.ndarray)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Returns whether ``value`` is a tuple."""
    return isinstance(value, tuple)


def is_tuple_or_list(value: object) -> TypeGuard[tuple[Any, ...] | list[Any]]:
    """Returns whether ``value`` is a tuple or a list."""
    return isinstance(value, (tuple, list))


def is_iterable(value: object) -> TypeGuard[Iterable[Any]]:
    """Returns whether ``value`` can be iterated."""
    return isinstance(value, Iterable)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Returns whether ``value`` is a sequence; an array counts as one."""
    return isinstance(value, (Sequence, np.ndarray))


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Returns whether ``value`` is a mapping."""
    return isinstance(value, Mapping)


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """Returns whether ``value`` is a dictionary."""
    return isinstance(value, dict)


def promote_sequence(value: Any) -> Any:
    """Returns a sequence as an array if it is one of numbers in rows of one length.

    Anything else is returned as it is.
    """
    if not is_sequence(value) or is_array(value):
        return value
    try:
        return np.array(value)
    except ValueError:  # rows of different lengths
        return value
