"""What an exchange in an event loop waits with: a deadline that is cheap to move, and a future that is used again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


class LoopDeadline:
    """A deadline that is set for every exchange and hardly ever met.

    One timer of the loop serves many: when it fires too early it is set again. So a step makes no timer and cancels
    none. It belongs to the loop that is running when it is made, and after `close` to the one that runs then.

    Args:
        missed: Called when it is met.
    """

    def __init__(self, missed: Callable[[], object]) -> None:
        self.at = math.inf
        self._loop = asyncio.get_running_loop()
        self._missed = missed
        self._timer: asyncio.TimerHandle | None = None

    def start(self, seconds: float) -> None:
        """Begins a wait."""
        timer = self._timer
        if timer is None:
            self._loop = asyncio.get_running_loop()
        at = self.at = self._loop.time() + seconds
        if timer is None or timer.when() > at:
            if timer is not None:
                timer.cancel()
            self._timer = self._loop.call_at(at, self._look)

    def stop(self) -> None:
        """Ends a wait."""
        self.at = math.inf

    def left(self) -> float:
        """Returns the seconds that are left."""
        return max(0.0, self.at - self._loop.time())

    def _look(self) -> None:
        self._timer = None
        if self.at == math.inf:
            return
        if self._loop.time() < self.at:
            self._timer = self._loop.call_at(self.at, self._look)
            return
        self.stop()
        self._missed()

    def close(self) -> None:
        """Ends a wait for good."""
        self.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Arrival(Generic[_T]):
    """What one task waits for, again and again: a future that is used more than once and wakes the task at once.

    An `asyncio.Future` wakes its task in the loop's next turn, which costs a system call more for a reply that is here
    already. This one is set by callbacks of the loop only, where no task runs, and so the task can go on right there.

    Args:
        loop: The loop.
    """

    #: What makes it a future to tasks.
    _asyncio_future_blocking = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wake: Callable[[Any], object] | None = None
        self._context: Context | None = None
        self._waiting = False
        self._result: _T | None = None
        self._failure: BaseException | None = None

    @property
    def waiting(self) -> bool:
        """Whether it was begun and has not come."""
        return self._waiting

    def begin(self) -> None:
        """Begins a wait, of the running task."""
        self._waiting = True
        self._result = self._failure = self._wake = None

    def __await__(self) -> Generator[Any, None, _T]:
        if self._waiting:
            self._asyncio_future_blocking = True
            yield self
        return self.result()

    def come(self, result: _T) -> None:
        """Ends the wait; called by the loop."""
        self._waiting, self._result = False, result
        wake, self._wake = self._wake, None
        if wake is not None:
            assert self._context is not None  # noqa: S101 - it comes with what is to be called
            self._context.run(wake, self)

    def fail(self, failure: BaseException) -> None:
        """Ends the wait with an exception; called from anywhere in the loop's thread."""
        self._waiting, self._failure = False, failure
        wake, self._wake = self._wake, None
        if wake is not None:
            self._loop.call_soon(wake, self, context=self._context)

    def cancel(self, msg: Any = None) -> bool:
        """Ends the wait of a task that is cancelled."""
        if not self._waiting:
            return False
        self.fail(asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg))
        return True

    def add_done_callback(
        self, fn: Callable[[Any], object], *, context: Context | None = None
    ) -> None:
        """Takes what wakes the task."""
        self._wake, self._context = fn, context

    def remove_done_callback(self, fn: Callable[[Any], object]) -> int:
        """Wakes the task no more."""
        known = self._wake == fn
        if known:
            self._wake = None
        return int(known)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Returns the loop."""
        return self._loop

    def done(self) -> bool:
        """Returns whether the wait has ended."""
        return not self._waiting

    def result(self) -> _T:
        """Returns what came.

        Raises:
            BaseException: What it failed with.
        """
        if self._failure is not None:
            raise self._failure
        return self._result  # type: ignore[return-value]
