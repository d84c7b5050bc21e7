"""Adaptive spinning: how both ends of a direct channel wait for the next message.

An idle processor goes to sleep, and waking it costs as much as a whole step: its caches are cold, and on a virtual
machine the host is involved. If the last wait was short, the next one probably is too, so it begins by polling. Between
two polls the processor is yielded to other threads. Where many threads share the processors, waits are long, so nothing
spins.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

#: Longest spin, in seconds. Most steps of cheap environments, even with images, are served in less.
_MOMENT = 200e-6

#: Yields the processor, so that spinning waiters do not keep the threads from running that they wait for.
_give_way: Callable[[], object] = getattr(os, "sched_yield", bool)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux reports a process's own processors
        return os.cpu_count() or 1


class AdaptiveSpin:
    """The waits of one end: each begins with a short spin if the last one was short, otherwise it sleeps at once.

    Args:
        clock: Monotonic time, in seconds.
        alone: Whether there is only one processor, which the peer needs; by default detected.

    Attributes:
        short: Whether the last wait was short, so that the next one begins by polling.
        begun: When the current wait began, by the clock.
    """

    __slots__ = ("_alone", "_clock", "begun", "short")

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, alone: bool | None = None
    ) -> None:
        self._clock = clock
        self._alone = _processors() == 1 if alone is None else alone
        self.begun = 0.0
        self.short = False

    def poll(self, poll: Callable[[int], _T]) -> _T | None:
        """Begins a wait: polls for a moment if the last one was short, and returns what is ready, None for nothing.

        Args:
            poll: Called with 0; returns what is ready, without waiting.
        """
        spins = self.begin()
        while spins:
            if ready := poll(0):
                return ready
            spins = self.goes_on()
        return None

    def begin(self) -> bool:
        """Begins a wait; returns whether to poll for as long as `goes_on` returns True."""
        self.begun = self._clock()
        return self.short

    def goes_on(self) -> bool:
        """Yields the processor; returns whether to poll once more."""
        _give_way()
        return self._clock() - self.begun < _MOMENT

    def woke(self) -> None:
        """Ends a wait for which `poll` returned nothing. Others need no call: they were short, as the one before."""
        self.short = not self._alone and self._clock() - self.begun < _MOMENT
