"""The schedule for sending a request again after its connection broke.

The server keeps a session's last answer and returns it for a repeated request. So an unanswered request is simply sent
again, on a new connection, until the session's lease is over. The lease starts anew with each connection that is made
and breaks; the request's timeout bounds all attempts. A Make whose connection broke is sent again under the same
request id, but only for a short time, because another server can make the session.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from envwire.client.errors import ServerUnavailableError

_FIRST_PAUSE, _MAX_PAUSE = 0.02, 1.0
#: The pause between attempts is at most this fraction of the lease.
_PART_OF_LEASE = 0.25
#: How long to retry while connections are refused: the session is gone, but the server may be restarting.
_REFUSED_SECONDS = 2.0
#: How long to repeat a Make after its connection broke, while the server accepts connections.
_MAKE_SECONDS = 2.0


class RetrySchedule:
    """The retry schedule of one session.

    Args:
        clock: Monotonic time, in seconds.

    Attributes:
        clock: Monotonic time, in seconds.
        lease: Seconds that the session outlives its connection, or its client's last request; 0 until it is made.
        deadline: The time at which the current request times out.
        late: Whether the connection of the current request broke.
        refused_span: Seconds to retry while connections are refused: few if there are other servers, any number at a
            gateway that relays; None for the usual ones.
        left: Seconds for which attempts continue if they keep failing like the last one.
        resumed: How many requests were answered after their connection broke.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.lease = 0.0
        self.deadline = 0.0
        self.late = False
        self.refused_span: float | None = None
        self.resumed = 0
        self.left = 0.0
        self._first_cut = self._last_cut = 0.0
        self._pause = 0.0

    def failed(self, failure: ServerUnavailableError) -> float | None:
        """Notes a connection that broke, or that could not be made.

        Returns:
            Seconds to wait before the next attempt; None if there is none.
        """
        longest = min(_MAX_PAUSE, (self.lease or _MAKE_SECONDS) * _PART_OF_LEASE)
        if not self.late:
            self.note_cut()
        elif failure.connected and self.lease:
            self._last_cut = self.clock()
        left = min(self._last_cut + self._span(failure), self.deadline) - self.clock()
        self.left = max(0.0, left)
        if left <= 0:
            return None
        pause, self._pause = self._pause, min(2 * self._pause, longest)
        return min(pause, left)

    def note_cut(self) -> None:
        """Notes that the connection of a request broke for the first time."""
        self.late = True
        self._first_cut = self._last_cut = self.clock()
        self._pause = _FIRST_PAUSE

    @property
    def outage(self) -> float:
        """Seconds since the connection of the request first broke."""
        return max(0.0, self.clock() - self._first_cut)

    @property
    def elsewhere(self) -> bool:
        """Whether there are other servers to go on at."""
        return self.refused_span not in {None, math.inf}

    def _span(self, failure: ServerUnavailableError) -> float:
        """Returns the seconds after a cut during which retries make sense."""
        if not self.lease:
            return _MAKE_SECONDS if failure.connected and not failure.refused else 0.0
        if not failure.refused:
            return self.lease
        span = _REFUSED_SECONDS if self.refused_span is None else self.refused_span
        return min(self.lease, span)

    def time_left(self) -> float:
        """Returns the seconds left of the request's timeout; the lease does not run while connected."""
        return max(self.deadline - self.clock(), self._pause)

    def answered(self) -> None:
        """Notes the answer to a request whose connection had broken."""
        self.late = False
        self.resumed += bool(self.lease)
