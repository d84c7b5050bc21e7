"""Equality of observations, infos and rewards in type, structure, dtype and value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs.type_guards import is_array, is_dict, is_tuple_or_list


def data_equivalence(data_1: Any, data_2: Any, exact: bool = False) -> bool:
    """Whether two values are the same.

    Args:
        data_1: Anything; dicts, tuples, lists and arrays of objects are looked into.
        data_2: What to compare with.
        exact: Whether numbers in arrays must be equal, instead of closer than 1e-5.
    """
    if type(data_1) is not type(data_2):
        return False
    if is_dict(data_1):
        same_keys = data_1.keys() == data_2.keys()
        return same_keys and all(data_equivalence(data_1[k], data_2[k], exact) for k in data_1)
    if is_tuple_or_list(data_1):
        return _same_items(data_1, data_2, exact)
    if is_array(data_1):
        return _same_arrays(data_1, data_2, exact)
    return bool(data_1 == data_2)


def _same_items(data_1: Any, data_2: Any, exact: bool) -> bool:
    pairs = zip(data_1, data_2, strict=False)
    return len(data_1) == len(data_2) and all(data_equivalence(a, b, exact) for a, b in pairs)


def _same_arrays(array_1: NDArray[Any], array_2: NDArray[Any], exact: bool) -> bool:
    if array_1.shape != array_2.shape or array_1.dtype != array_2.dtype:
        return False
    if array_1.dtype == object:
        return _same_items(np.ravel(array_1), np.ravel(array_2), exact)
    if exact:
        return bool(np.all(array_1 == array_2))
    return bool(np.allclose(array_1, array_2, rtol=1e-5, atol=1e-5))
