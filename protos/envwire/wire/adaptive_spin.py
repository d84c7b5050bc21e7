"""Adaptive spinning: how both ends of a direct channel wait for the next message.

An idle processor goes to sleep, and waking it costs as much as a whole step: its caches are cold, and on a virtual
machine the host is involved. If the last wait was short, the next one probably is, so it begins by polling. Between two
polls the processor is yielded to other threads; where many threads share the processors, waits are long and nothing
spins.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

#: Longest spin. Most steps of cheap environments, those with images included, are served in less.
_MOMENT = 200e-6

#: Yields the processor. Without it, two waiters that spin would keep the threads that they wait for from running.
_give_way: Callable[[], object] = getattr(os, "sched_yield", bool)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux reports a process's own processors
        return os.cpu_count() or 1


class AdaptiveSpin:
    """Waits of one waiter: each begins with a short spin if the last one was short, and sleeps otherwise.

    Args:
        clock: Seconds.
        alone: Whether there is one processor only, which the peer needs; by default as it is.
    """

    __slots__ = ("_alone", "_begun", "_clock", "_short")

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, alone: bool | None = None
    ) -> None:
        self._clock = clock
        self._alone = _processors() == 1 if alone is None else alone
        self._begun = 0.0
        self._short = False

    def look(self, poll: Callable[[int], list[_T]]) -> list[_T]:
        """Begins a wait: looks for a moment if the last one was short, and returns what there is.

        Args:
            poll: Called with 0, returns what is there without waiting.
        """
        clock = self._clock
        begun = self._begun = clock()
        if self._short:
            while clock() - begun < _MOMENT:
                if ready := poll(0):
                    return ready
                _give_way()
        return []

    def begin(self) -> bool:
        """Begins the wait of an event loop, and tells whether to look for a moment: for as long as it `goes_on`."""
        self._begun = self._clock()
        return self._short

    def goes_on(self) -> bool:
        """Gives way, and tells whether to look once more."""
        _give_way()
        return self._clock() - self._begun < _MOMENT

    def woke(self) -> None:
        """Ends a wait."""
        self._short = not self._alone and self._clock() - self._begun < _MOMENT
