"""Equality that holds types, shapes, dtypes, orders, NaN and the sign of zero."""

from __future__ import annotations

from typing import Any

import numpy as np


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same in every bit and every type."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, (np.ndarray, np.generic)):
        alike = left.dtype == right.dtype and left.shape == right.shape
        return alike and np.asarray(left).tobytes() == np.asarray(right).tobytes()
    if isinstance(left, float):
        return np.float64(left).tobytes() == np.float64(right).tobytes()
    return bool(left == right)
