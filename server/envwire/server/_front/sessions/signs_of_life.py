"""Signs of life of a session process behind a direct channel, whose answers the front does not see."""

from __future__ import annotations

#: Seconds after which a process that leaves requests unread is probed. A process that merely waits for a client to read
#: its replies answers the probe.
UNREAD_SECONDS = 0.5


class SignsOfLife:
    """Decides when a process must be probed for a sign of life.

    Args:
        now: Monotonic time, in seconds, as in all calls.

    Attributes:
        heard_at: Time of the last sign of life.
    """

    def __init__(self, now: float) -> None:
        self.heard_at: float = now
        self._served: int = 0
        self._unread_since: float | None = None

    def update(self, served: int, unread: bool, now: float) -> None:
        """Updates what the front can observe.

        Args:
            served: Number of requests that the process has served.
            unread: Whether there are bytes for it to read.
            now: The time.
        """
        if served != self._served:
            self._served, self.heard_at = served, now
        if not unread or self.heard_at == now:
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = now

    def is_due(self, now: float, timeout: float) -> bool:
        """Returns whether it was silent for longer than a request may take, or leaves requests unread."""
        silent = now - self.heard_at
        unread = 0.0 if self._unread_since is None else now - self._unread_since
        return silent > timeout or min(unread, silent) > UNREAD_SECONDS

    def discount_stall(self, seconds: float) -> None:
        """Excludes time during which the front's own event loop was stalled."""
        self.heard_at += seconds
        if self._unread_since is not None:
            self._unread_since += seconds
