"""How many slots of a server each group may take, and how many it has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping


class GroupSlots:
    """Counts the sessions of each group, those being made included.

    Attributes:
        limits: How many a group may have at once, by its name; a group that is not named, as many as the server.
    """

    def __init__(self) -> None:
        self.limits: Mapping[str, int] = {}
        self._taken: Counter[str] = Counter()

    def free(self, group: str) -> float:
        """Returns how many more a group may have; infinitely many where the server alone limits them."""
        return self.limits.get(group, math.inf) - self._taken[group]

    def full(self, group: str) -> bool:
        """Returns whether a group has as many as it may."""
        return self.free(group) <= 0

    def take(self, group: str) -> None:
        """Counts one more."""
        self._taken[group] += 1

    def give_back(self, group: str) -> None:
        """Counts one less."""
        self._taken[group] -= 1
