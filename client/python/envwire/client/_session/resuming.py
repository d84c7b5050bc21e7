"""Decides when, and for how long, a request is sent again after its connection broke.

A session keeps its last answer, and answers a repeated request with it. So a request that got no answer because the
connection broke is simply sent again, on a new connection, until the session's lease is over. The lease begins anew
with each connection that comes about and breaks; the request's own timeout bounds them all. A Make whose connection
broke is sent again under the same request id, for a moment only: there may be other servers.
"""

from __future__ import annotations

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
#: However long it has tried, it sleeps through no more than this part of a lease.
_PART_OF_LEASE = 0.25
#: Where nobody listens any more no session lives on; this is for a server that is just coming back.
_REFUSED_SECONDS = 2.0
#: For how long a Make is repeated after its connection broke, while somebody listens there.
_MAKE_SECONDS = 2.0


class RetrySchedule:
    """The schedule of one session's retries. It has no clock of its own.

    Attributes:
        lease: Seconds for which the session outlives a connection; 0 until it is made.
        deadline: When the time of the present request is up.
        late: Whether its connection broke.
        cut_at: When it first did.
        refused_span: Seconds to try again where nobody listens.
        left: Seconds for which it is tried, if the next failures are like the last one.
        resumed: How often a request was answered after its connection broke.
    """

    def __init__(self) -> None:
        self.lease = 0.0
        self.deadline = 0.0
        self.late = False
        self.refused_span: float | None = None
        self.resumed = 0
        self.left = 0.0
        self.cut_at = self._last_cut = 0.0
        self._pause = 0.0

    def failed(self, now: float, *, refused: bool, connected: bool) -> float | None:
        """Takes a connection that broke, or did not come about.

        Args:
            now: The time.
            refused: Whether nobody listens there any more.
            connected: Whether a connection had come about.

        Returns:
            Seconds to wait before the next try; None when there is none.
        """
        longest = min(_LONGEST_PAUSE, (self.lease or _MAKE_SECONDS) * _PART_OF_LEASE)
        if not self.late:
            self.note_cut(now)
        elif connected and self.lease:
            self._last_cut = now
        left = min(self._last_cut + self._span(refused, connected), self.deadline) - now
        self.left = max(0.0, left)
        if left <= 0:
            return None
        pause, self._pause = self._pause, min(2 * self._pause, longest)
        return min(pause, left)

    def note_cut(self, now: float) -> None:
        """Takes the time at which the connection of a request first broke."""
        self.late = True
        self.cut_at = self._last_cut = now
        self._pause = _FIRST_PAUSE

    def forget_cut(self) -> None:
        """Begins anew: nobody waits for that request any more."""
        self.late = False

    def _span(self, refused: bool, connected: bool) -> float:
        """Returns for how many seconds after a cut it makes sense to try again."""
        if not self.lease:
            return _MAKE_SECONDS if connected and not refused else 0.0
        if not refused:
            return self.lease
        span = _REFUSED_SECONDS if self.refused_span is None else self.refused_span
        return min(self.lease, span)

    def time_left(self, now: float) -> float:
        """Returns the seconds that a repeated request has: once it is connected the lease stands still."""
        return max(self.deadline - now, self._pause)

    def answered(self) -> None:
        """Takes the answer to a request whose connection had broken."""
        self.late = False
        self.resumed += bool(self.lease)
