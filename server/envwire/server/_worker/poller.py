"""Waits for the sockets of a session process, and calls back for those that are ready."""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable

from envwire.wire.local_channel import AdaptiveSpin, Mailbox

#: How long a client that steps through a mailbox may keep the sockets from being polled, in seconds.
_UNPOLLED_SECONDS = 1e-3


class Poller:
    """The descriptors to poll, with the callbacks for when they are readable.

    Args:
        spin: How waits begin; by default as this machine's processors allow.
    """

    def __init__(self, spin: AdaptiveSpin | None = None) -> None:
        self._poll = select.poll()
        self._spin = spin or AdaptiveSpin()
        self._ready: dict[int, Callable[[], None]] = {}
        self._deadlines: dict[int, tuple[float, Callable[[], None]]] = {}
        self._mailbox: Mailbox | None = None
        self._mailbox_ready: list[tuple[int, int]] = []
        self._polled = 0.0

    def spin_up_to(self, seconds: float) -> None:
        """Sets how long a wait may begin by polling."""
        self._spin.moment = seconds

    def watch(
        self, descriptor: int, ready: Callable[[], None], mailbox: Mailbox | None = None
    ) -> None:
        """Watches a descriptor for bytes to read.

        Args:
            descriptor: The descriptor.
            ready: Called when there are some.
            mailbox: The mailbox in which they may be, too; at most one is watched at a time.
        """
        self._deadlines.pop(descriptor, None)
        self._ready[descriptor] = ready
        if mailbox is not None:
            self._mailbox, self._mailbox_ready = mailbox, [(descriptor, select.POLLIN)]
        self._poll.register(descriptor, select.POLLIN)

    def watch_writable(
        self, descriptor: int, ready: Callable[[], None], seconds: float, late: Callable[[], None]
    ) -> None:
        """Watches a descriptor until it is writable, instead of for bytes to read.

        Args:
            descriptor: The descriptor.
            ready: Called when it is writable.
            seconds: How long to wait.
            late: Called when the time is up.
        """
        self._leave_mailbox(descriptor)
        self._deadlines[descriptor] = (time.monotonic() + seconds, late)
        self._ready[descriptor] = ready
        self._poll.register(descriptor, select.POLLOUT)

    def remind(self, descriptor: int, seconds: float, late: Callable[[], None]) -> None:
        """Has `late` called in some seconds if the descriptor is still watched; it is watched for bytes meanwhile."""
        self._deadlines[descriptor] = (time.monotonic() + seconds, late)

    def unwatch(self, descriptor: int) -> None:
        """Stops watching a descriptor, which must still be open."""
        self._leave_mailbox(descriptor)
        self._deadlines.pop(descriptor, None)
        del self._ready[descriptor]
        self._poll.unregister(descriptor)

    def _leave_mailbox(self, descriptor: int) -> None:
        if self._mailbox is not None and self._mailbox_ready[0][0] == descriptor:
            self._mailbox = None

    def serve(self) -> None:
        """Waits, and calls the callbacks that are due."""
        for descriptor, _ in self._spin.poll(self._look) or self._sleep():
            # A descriptor may have got another callback since the poll.
            if ready := self._ready.get(descriptor):
                ready()
        if self._deadlines:
            for late in self._late():
                late()

    def _look(self, timeout: int) -> list[tuple[int, int]]:
        begun, mailbox = self._spin.begun, self._mailbox
        if mailbox is not None and mailbox.look() and begun - self._polled < _UNPOLLED_SECONDS:
            return self._mailbox_ready
        self._polled = begun
        return self._poll.poll(timeout)

    def _sleep(self) -> list[tuple[int, int]]:
        if self._mailbox is not None and self._mailbox.sleep():
            # The sockets are polled as well: a hostile client may put one frame after another.
            return self._poll.poll(0) or self._mailbox_ready
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
