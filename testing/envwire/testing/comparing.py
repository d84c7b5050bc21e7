"""Rollouts with seeded actions, and strict equality of their values, for comparing environments step by step."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def rollout(env: Any, steps: int, seed: int) -> list[Any]:
    """Returns all results of an environment: of the first reset, and of each step and reset after it."""
    env.action_space.seed(seed)
    seen: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    return seen


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


_COMPARE: dict[Any, Callable[[Any, Any], bool]] = {
    (np.ndarray, np.generic): _arrays,
    float: lambda left, right: struct.pack("d", left) == struct.pack("d", right),
    complex: lambda left, right: _sequences((left.real, left.imag), (right.real, right.imag)),
    dict: lambda left, right: _sequences(list(left.items()), list(right.items())),
    (list, tuple): _sequences,
    set: lambda left, right: _sequences(sorted(left, key=repr), sorted(right, key=repr)),
    io.StringIO: lambda left, right: left.getvalue() == right.getvalue(),
}
