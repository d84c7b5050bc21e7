"""Limits and counts of the slots that each group of a server takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping


class GroupSlots:
    """Counts the sessions of each group, including those being made.

    Attributes:
        limits: Largest number of sessions by name of the group; other groups have only the server's limit.
    """

    def __init__(self) -> None:
        self.limits: Mapping[str, int] = {}
        self._taken: Counter[str] = Counter()

    def free(self, group: str) -> float:
        """Returns how many more sessions a group may have; infinity if only the server's limit applies."""
        return self.limits.get(group, math.inf) - self._taken[group]

    def full(self, group: str) -> bool:
        """Returns whether a group is at its limit."""
        return self.free(group) <= 0

    def take(self, group: str) -> None:
        """Counts one more session of a group."""
        self._taken[group] += 1

    def give_back(self, group: str) -> None:
        """Counts one session less of a group."""
        self._taken[group] -= 1
