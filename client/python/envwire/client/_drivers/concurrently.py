"""Calls one function for several items, at the same time or in turn, and collects what they raise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

_S = TypeVar("_S")
_T = TypeVar("_T")
_MOST_THREADS = 16


def at_once(function: Callable[[Any], _T], items: Sequence[Any]) -> list[_T]:
    """Calls a function for each item, at the same time, and returns the results in order.

    Raises:
        Exception: The first of what the calls raised, after all of them have ended.
    """
    if len(items) < 2:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(items), _MOST_THREADS)) as threads:
        futures = [threads.submit(function, item) for item in items]
    return [future.result() for future in futures]


def outcomes(function: Callable[[_S], _T], items: Iterable[_S]) -> tuple[list[_T], list[Exception]]:
    """Calls a function for each item, whatever one raises; returns the results and the exceptions."""
    results: list[_T] = []
    failures: list[Exception] = []
    for item in items:
        try:
            results.append(function(item))
        except Exception as error:  # noqa: PERF203 - the others have to be served all the same
            failures.append(error)
    return results, failures
