"""Estimates the memory of an object, including everything that it refers to."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

#: Types whose instances belong to the program and refer to all of it.
_OF_THE_PROGRAM = (type, ModuleType, FunctionType, BuiltinFunctionType)


def size_of(value: Any, shared: Iterable[Any] = ()) -> int:
    """Returns the approximate size of a value in bytes.

    Args:
        value: The value. An object that several of its parts refer to counts once.
        shared: Objects to leave out, together with everything that only they refer to.
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
    if isinstance(part, np.ndarray):  # the garbage collector does not see the contents of arrays
        array = cast("np.ndarray[Any, np.dtype[Any]]", part)
        elements: list[Any] = array.ravel().tolist() if array.dtype.hasobject else []
        return elements if array.base is None else [*elements, array.base]
    return gc.get_referents(part)
