"""One engine for blocking and asyncio clients: repetition, failure detection and recovery are coroutines.

They are written once, over objects whose I/O is awaited. What an asyncio client awaits suspends its task; what a
blocking client awaits never suspends, so `run` executes a whole coroutine in one call. Where a blocking client does
several things at the same time, it does them in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine of a blocking client to its end and returns its result.

    Raises:
        BaseException: Whatever the coroutine raises. An environment may raise StopIteration, which a coroutine turns
            into a RuntimeError; here it becomes a StopIteration again.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    except RuntimeError as error:
        if isinstance(error.__cause__, StopIteration):
            raise error.__cause__  # noqa: B904 - it keeps the remote traceback as its cause
        raise
    coroutine.close()
    raise AssertionError("a coroutine of a blocking client waited for an event loop")


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
