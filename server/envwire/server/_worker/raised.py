"""Prints tracebacks of environments' exceptions for the operator, at a bounded rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from envwire.codec import FaultError

#: Seconds between two tracebacks of one session, since an environment may refuse each action of a long training.
PAUSE_SECONDS = 1.0


class RaisedLog:
    """Prints tracebacks to standard error, which the front reads; tracebacks beyond the rate are only counted.

    Args:
        clock: Monotonic time, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0
        self._left_out = 0

    def note(self, fault: FaultError) -> None:
        """Prints an environment's exception, or counts it."""
        if self._clock() < self._next:
            self._left_out += 1
            return
        more = f" ({self._left_out} more since the last one)" if self._left_out else ""
        self._next, self._left_out = self._clock() + PAUSE_SECONDS, 0
        lines = (f"the environment raised{more}:", *fault.traceback)
        print("\n".join(lines), file=sys.stderr, flush=True)
