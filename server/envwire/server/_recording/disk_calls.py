"""Calls of a disk, which may hang: in threads that hold up neither other work nor the end of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

#: So many calls may hang before `check` fails, until one of these returns.
_MOST_LATE = 4


class DiskCalls:
    """Calls of one disk, each with a deadline.

    Args:
        seconds: How long a call may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._late: set[Future[Any]] = set()

    def check(self) -> None:
        """Checks whether the disk answers; called before new work begins, which bounds the threads that hang.

        Raises:
            TimeoutError: Several calls hang.
        """
        if len(self._late) >= _MOST_LATE:
            raise TimeoutError("the disk does not answer")

    async def call(self, act: Callable[[], T], undo: Callable[[T], object]) -> T:
        """Returns what `act` returns.

        Args:
            act: The call.
            undo: Called with the result, in the thread, if the call returns after it was given up.

        Raises:
            OSError: The disk refuses, or does not answer in time.
        """
        calling = _started(act)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(calling), self._seconds)
        except (asyncio.TimeoutError, asyncio.CancelledError) as error:
            self._late.add(calling)
            calling.add_done_callback(lambda _: self._returned(calling, undo))
            if isinstance(error, asyncio.CancelledError):
                raise
            raise TimeoutError(f"the disk does not answer within {self._seconds:g} s") from None

    def _returned(self, call: Future[T], undo: Callable[[T], object]) -> None:
        self._late.discard(call)
        if call.exception() is None:
            undo(call.result())


async def in_thread(act: Callable[[], T]) -> T:
    """Awaits a call in a thread of its own. The interpreter does not wait for that thread at its end."""
    return await asyncio.wrap_future(_started(act))


def _started(act: Callable[[], T]) -> Future[T]:
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()  # who gives it up does not end it
    Thread(target=_run, args=(act, outcome), name="disk", daemon=True).start()
    return outcome


def _run(act: Callable[[], T], outcome: Future[T]) -> None:
    try:
        result = act()
    except BaseException as error:
        outcome.set_exception(error)
    else:
        outcome.set_result(result)
