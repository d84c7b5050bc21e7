"""Counters of a proxy's connections and sessions."""

from __future__ import annotations

from typing import NamedTuple


class ConnectionStats(NamedTuple):
    """What an environment went through on its way here.

    Attributes:
        resumed: How often a session went on after its connection broke.
        lost: How many sessions were lost.
        recovered: How many of these were made again by the policy, so that the request went on.
    """

    resumed: int = 0
    lost: int = 0
    recovered: int = 0

    def plus(self, resumed: int = 0, lost: int = 0, recovered: int = 0) -> ConnectionStats:
        """Returns the sums of these counts and others."""
        return ConnectionStats(self.resumed + resumed, self.lost + lost, self.recovered + recovered)
