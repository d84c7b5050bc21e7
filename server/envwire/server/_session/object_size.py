"""How much memory objects take, with all that they hold and share with nobody."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

#: What belongs to the program, and leads to all of it.
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
        elements: list[Any] = part.ravel().tolist() if part.dtype.hasobject else []
        return elements if part.base is None else [*elements, part.base]
    return gc.get_referents(part)
