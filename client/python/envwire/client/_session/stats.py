"""Counters of a proxy's connections and sessions."""

from __future__ import annotations

from typing import NamedTuple


class ConnectionStats(NamedTuple):
    """Counters of one environment, since it was first made.

    Attributes:
        resumed: How often a session continued after its connection broke.
        lost: How many sessions were lost.
        recovered: How many of the lost sessions recovery replaced, so that the request was served.
    """

    resumed: int = 0
    lost: int = 0
    recovered: int = 0

    def plus(self, resumed: int = 0, lost: int = 0, recovered: int = 0) -> ConnectionStats:
        """Returns the sums of these counters and others."""
        return ConnectionStats(self.resumed + resumed, self.lost + lost, self.recovered + recovered)
