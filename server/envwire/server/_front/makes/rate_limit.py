"""Rate limit per client: a token bucket, stored as the time at which it is full again."""

from __future__ import annotations

from collections.abc import Callable

from envwire.codec import FaultError, Reason

#: Beyond this number of clients, those with a full bucket are dropped, since a new bucket is full as well.
_SWEEP_AT = 4096


class Rate:
    """Limits how many environments each client makes per minute; a burst may use a whole minute's allowance.

    Args:
        per_minute: Environments per minute; 0 for no limit.
        clock: Monotonic time, in seconds.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def wait(self, client: str) -> float:
        """Takes one token from the client's bucket and returns 0, or returns the seconds until there is one."""
        if not self._per_minute:
            return 0.0
        now, each = self._clock(), 60.0 / self._per_minute
        full_at = max(now, self._full_at.get(client, now)) + each
        early = full_at - now - 60.0
        if early > 1e-9:
            return early
        self._full_at[client] = full_at
        if len(self._full_at) > _SWEEP_AT:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
        return 0.0

    def check_make(self, client: str) -> None:
        """Counts a client's Make.

        Raises:
            FaultError: RATE_LIMITED.
        """
        if wait := self.wait(client):
            raise FaultError(
                Reason.RATE_LIMITED,
                f"{client} asked for more than {self._per_minute} environments in a minute; wait {wait:.1f} s. The "
                "operator raises the number with --max-makes-per-minute",
                retry_after=wait,
            )
