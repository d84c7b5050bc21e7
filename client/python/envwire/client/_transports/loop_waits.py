"""Exchanges in an event loop: a deadline and a future that are reused, since new ones for each exchange cost more."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from typing import Any, Generic, TypeVar

from envwire.client._session.states import ProtocolError
from envwire.wire.frames import Reply

_T = TypeVar("_T")


class LoopDeadline:
    """A deadline that is set for every exchange and rarely passes.

    One timer of the loop serves many exchanges: if it fires too early, it is scheduled again. So a step neither creates
    nor cancels a timer. The deadline belongs to the loop that is running when it is made; after `close`, to the loop
    that is running at the next `start`.

    Args:
        missed: Called when the deadline passes.
    """

    def __init__(self, missed: Callable[[], object]) -> None:
        self.at = math.inf
        self._loop = asyncio.get_running_loop()
        self._missed = missed
        self._timer: asyncio.TimerHandle | None = None

    def start(self, seconds: float) -> None:
        """Starts a wait."""
        timer = self._timer
        if timer is None:
            self._loop = asyncio.get_running_loop()
        at = self.at = self._loop.time() + seconds
        if timer is None or timer.when() > at:
            if timer is not None:
                timer.cancel()
            self._timer = self._loop.call_at(at, self._check)

    def stop(self) -> None:
        """Ends a wait."""
        self.at = math.inf

    def left(self) -> float:
        """Returns the seconds until the deadline."""
        return max(0.0, self.at - self._loop.time())

    def _check(self) -> None:
        self._timer = None
        if self.at == math.inf:
            return
        if self._loop.time() < self.at:
            self._timer = self._loop.call_at(self.at, self._check)
            return
        self.stop()
        self._missed()

    def close(self) -> None:
        """Ends a wait and cancels the timer."""
        self.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ReusableFuture(Generic[_T]):
    """A future that one task awaits repeatedly, and that resumes the task at once.

    An `asyncio.Future` resumes its task in the loop's next iteration, which costs one more system call. Only callbacks
    of the loop set this one, while no task runs, so it can resume the task directly.

    Args:
        loop: The loop.

    Attributes:
        waiting: Whether a wait is in progress.
    """

    #: The attribute by which `asyncio.Task` recognises a future.
    _asyncio_future_blocking = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wake: Callable[[Any], object] | None = None
        self._context: Context | None = None
        self.waiting = False
        self._result: _T | None = None
        self._failure: BaseException | None = None

    def begin(self) -> None:
        """Begins a wait."""
        self.waiting = True
        self._result = self._failure = self._wake = None

    def __await__(self) -> Generator[Any, None, _T]:
        if self.waiting:
            self._asyncio_future_blocking = True
            yield self
        return self.result()

    def set_result(self, result: _T) -> None:
        """Ends the wait with a result, and resumes the task at once; called by a callback of the loop."""
        self.waiting, self._result = False, result
        wake, self._wake = self._wake, None
        if wake is not None:
            assert self._context is not None  # noqa: S101 - it is set together with the callback
            self._context.run(wake, self)

    def set_exception(self, failure: BaseException) -> None:
        """Ends the wait with an exception; may be called from anywhere in the loop's thread."""
        self.waiting, self._failure = False, failure
        wake, self._wake = self._wake, None
        if wake is not None:
            self._loop.call_soon(wake, self, context=self._context)

    def cancel(self, msg: Any = None) -> bool:
        """Ends the wait of a cancelled task."""
        if not self.waiting:
            return False
        self.set_exception(asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg))
        return True

    def add_done_callback(
        self, fn: Callable[[Any], object], *, context: Context | None = None
    ) -> None:
        """Stores the callback that resumes the task."""
        self._wake, self._context = fn, context

    def remove_done_callback(self, fn: Callable[[Any], object]) -> int:
        """Removes the callback that resumes the task."""
        known = self._wake == fn
        if known:
            self._wake = None
        return int(known)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Returns the loop."""
        return self._loop

    def done(self) -> bool:
        """Returns whether the wait has ended."""
        return not self.waiting

    def result(self) -> _T:
        """Returns the result of the wait.

        Raises:
            BaseException: The exception that ended the wait.
        """
        if self._failure is not None:
            raise self._failure
        return self._result  # type: ignore[return-value]


class OneAtATime:
    """The methods of `AsyncTransport` of a transport that carries one request at a time."""

    pipelines = False

    def send_ahead(self, _request: bytes, _timeout: float) -> None:
        """Never happens."""
        raise ProtocolError("this transport carries one request at a time")

    def receive_ahead(self, _timeout: float) -> Awaitable[Reply]:
        """Never happens."""
        raise ProtocolError("this transport carries one request at a time")
