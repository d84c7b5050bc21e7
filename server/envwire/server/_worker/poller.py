"""Waits for the sockets of a session process, and calls back for those that are ready."""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable
from typing import Protocol

from envwire.wire.adaptive_spin import AdaptiveSpin


class Source(Protocol):
    """Something with a descriptor to poll."""

    def fileno(self) -> int:
        """Returns the descriptor to wait on."""
        ...


class Waiting:
    """The sources to poll, with the callbacks for when they are readable."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._spin = AdaptiveSpin()
        self._ready: dict[int, Callable[[], None]] = {}
        self._deadlines: dict[int, tuple[float, Callable[[], None]]] = {}

    def watch(self, source: Source, ready: Callable[[], None]) -> None:
        """Watches a source for bytes to read."""
        self._deadlines.pop(source.fileno(), None)
        self._ready[source.fileno()] = ready
        self._poll.register(source.fileno(), select.POLLIN)

    def watch_writable(
        self, source: Source, ready: Callable[[], None], seconds: float, late: Callable[[], None]
    ) -> None:
        """Watches a source until it is writable, instead of for bytes to read.

        Args:
            source: The source.
            ready: Called when it is writable.
            seconds: How long to wait.
            late: Called when the time is up.
        """
        self._deadlines[source.fileno()] = (time.monotonic() + seconds, late)
        self._ready[source.fileno()] = ready
        self._poll.register(source.fileno(), select.POLLOUT)

    def unwatch(self, source: Source) -> None:
        """Stops watching a source, which must still be open."""
        self._deadlines.pop(source.fileno(), None)
        del self._ready[source.fileno()]
        self._poll.unregister(source.fileno())

    def serve(self) -> None:
        """Waits, and calls the callbacks that are due."""
        for descriptor, _ in self._spin.poll(self._poll.poll) or self._sleep():
            # A source may have been replaced since the poll.
            if ready := self._ready.get(descriptor):
                ready()
        if self._deadlines:
            for late in self._late():
                late()

    def _sleep(self) -> list[tuple[int, int]]:
        readable = self._poll.poll(self._milliseconds() if self._deadlines else None)
        self._spin.woke()
        return readable

    def _milliseconds(self) -> int:
        """Returns the milliseconds until the next deadline."""
        first = min(deadline for deadline, _ in self._deadlines.values())
        return max(0, math.ceil((first - time.monotonic()) * 1000))

    def _late(self) -> list[Callable[[], None]]:
        now = time.monotonic()
        return [late for deadline, late in self._deadlines.values() if deadline <= now]
