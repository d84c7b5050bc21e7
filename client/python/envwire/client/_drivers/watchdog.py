"""Deadlines for waits that take no timeout.

gRPC takes no timeout for the next message of a stream. One thread checks all such waits ten times a second and cancels
those that are overdue; starting a wait only stores its deadline.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable

from envwire.client._transports.portability import after_fork_in_child

_PERIOD_SECONDS = 0.1


class Deadline:
    """The deadline of the current wait on one connection.

    Args:
        cancel: Ends the wait; called from another thread.

    Attributes:
        at: When the current wait ends, by the monotonic clock; infinity without one. A stream sets it for each step.
        missed: Whether a wait was overdue.
    """

    def __init__(self, cancel: Callable[[], object] = lambda: None) -> None:
        self._cancel = cancel
        self.at = math.inf
        self.missed = False
        _watch(self)

    def start(self, seconds: float) -> None:
        """Starts a wait."""
        self.at = time.monotonic() + seconds

    def stop(self) -> None:
        """Ends a wait."""
        self.at = math.inf

    def check(self, now: float) -> None:
        """Cancels the wait when it is overdue."""
        if now > self.at:
            self.missed, self.at = True, math.inf
            self._cancel()


_watched: weakref.WeakSet[Deadline] = weakref.WeakSet()
_lock = threading.Lock()
_running = False


def _watch(deadline: Deadline) -> None:
    global _running  # noqa: PLW0603 - one thread for all connections
    with _lock:
        _watched.add(deadline)
        if not _running:
            threading.Thread(target=_run, name="envwire-watchdog", daemon=True).start()
            _running = True


def _run() -> None:
    while True:
        time.sleep(_PERIOD_SECONDS)
        with _lock:
            watched = list(_watched)
        now = time.monotonic()
        for deadline in watched:
            deadline.check(now)


def _after_fork() -> None:
    """Forgets the parent's lock, which a thread may have held, and its thread and connections."""
    global _lock, _running
    _lock, _running = threading.Lock(), False
    _watched.clear()


after_fork_in_child(_after_fork)
