"""Signs of life of a session process behind a direct channel, where the front does not see its answers."""

from __future__ import annotations

#: Time after which a process that reads nothing is asked for a sign of life; one that waits for a client that does not
#: read its replies gives it.
UNREAD_SECONDS = 0.5


class SignsOfLife:
    """Tells when a process is to be asked for a sign of life.

    Args:
        now: Monotonic time, in seconds, here as everywhere.
    """

    def __init__(self, now: float) -> None:
        self._heard_at = now
        self._served = 0
        self._unread_since: float | None = None

    def heard(self, now: float) -> None:
        """Notes that it gave one."""
        self._heard_at = now

    def look(self, served: int, unread: bool, now: float) -> None:
        """Takes over what can be seen.

        Args:
            served: How many requests it has served.
            unread: Whether there is something that it might read.
            now: Of this look.
        """
        if served != self._served:
            self._served, self._heard_at = served, now
        if not unread or self._heard_at == now:
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = now

    def are_due(self, now: float, timeout: float) -> bool:
        """Whether it has said nothing for as long as a request may take, or does not read what there is to read."""
        silent = now - self._heard_at
        unread = 0.0 if self._unread_since is None else now - self._unread_since
        return silent > timeout or min(unread, silent) > UNREAD_SECONDS

    def discount_stall(self, seconds: float) -> None:
        """Lets a time not count in which the front itself stood still."""
        self._heard_at += seconds
        if self._unread_since is not None:
            self._unread_since += seconds
