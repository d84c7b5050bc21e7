"""Strict equality of values, including types, dtypes and shapes."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def identical(left: Any, right: Any) -> bool:
    """Returns whether two values have the same types, bits, dtypes, shapes and orders, recursively."""
    if type(left) is not type(right):
        return False
    for kind, compare in _COMPARE.items():
        if isinstance(left, kind):
            return compare(left, right)
    return bool(left == right)


def _arrays(left: Any, right: Any) -> bool:
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return False
    if left.dtype.kind == "O":
        return _sequences(list(left.flat), list(right.flat))
    return bool(left.tobytes() == right.tobytes())


def _sequences(left: Any, right: Any) -> bool:
    return len(left) == len(right) and all(map(identical, left, right))


def _sets(left: Any, right: Any) -> bool:
    return _sequences(sorted(left, key=repr), sorted(right, key=repr))


def _dicts(left: Any, right: Any) -> bool:
    return _sequences(list(left.items()), list(right.items()))


_COMPARE: dict[Any, Callable[[Any, Any], bool]] = {
    (np.ndarray, np.generic): _arrays,
    float: lambda left, right: struct.pack("d", left) == struct.pack("d", right),
    complex: lambda left, right: _sequences((left.real, left.imag), (right.real, right.imag)),
    dict: _dicts,
    (list, tuple): _sequences,
    set: _sets,
    io.StringIO: lambda left, right: left.getvalue() == right.getvalue(),
}
