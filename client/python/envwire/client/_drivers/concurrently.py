"""Calls one function for several items at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")
_MAX_THREADS = 16


def at_once(function: Callable[[Any], _T], items: Sequence[Any]) -> list[_T]:
    """Calls a function for each item at the same time, in threads, and returns the results in order.

    Raises:
        Exception: The first exception of the calls, after all of them have ended.
    """
    if len(items) < 2:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_MAX_THREADS) as threads:
        results = threads.map(function, items)
    return list(results)
