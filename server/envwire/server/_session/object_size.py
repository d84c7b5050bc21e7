"""Estimates the memory of an object and of everything that only it refers to."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

#: Types that belong to the program, and refer to all of it.
_OF_THE_PROGRAM = (type, ModuleType, FunctionType, BuiltinFunctionType)


def size_of(value: Any, shared: Iterable[Any] = ()) -> int:
    """Returns about how many bytes a value takes.

    Args:
        value: The value. What several parts of it hold counts once.
        shared: What does not count, wherever it is found, nor what only it holds.
    """
    seen = set(map(id, shared))
    left, size = [value], 0
    while left:
        part = left.pop()
        if id(part) in seen or isinstance(part, _OF_THE_PROGRAM):
            continue
        seen.add(id(part))
        size += sys.getsizeof(part)
        left += _held_by(part)
    return size


def _held_by(part: Any) -> list[Any]:
    if isinstance(part, np.ndarray):  # the collector does not know what arrays hold
        array = cast("np.ndarray[Any, np.dtype[Any]]", part)
        elements: list[Any] = array.ravel().tolist() if array.dtype.hasobject else []
        return elements if array.base is None else [*elements, array.base]
    return gc.get_referents(part)
