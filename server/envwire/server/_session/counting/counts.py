"""The interface through which a session reports its counts: to the scoreboard in a session process, else to nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Counts(Protocol):
    """Receives the counts of a session."""

    def add_episodes(self, ended: Sequence[tuple[float, int]]) -> None:
        """Adds finished episodes, each with its return and its number of steps."""
        ...

    def add_repeat(self) -> None:
        """Counts a repeated request, which was answered with the kept reply."""
        ...

    def add_replay(self, served: int, epoch: int, loss: str) -> None:
        """Counts the replayed requests of a lost session.

        Args:
            served: Number of requests that were served.
            epoch: How many sessions of the environment were lost before this one.
            loss: Why the last of them was lost.
        """
        ...


class NotCounted:
    """Ignores all counts."""

    def add_episodes(self, ended: Sequence[tuple[float, int]]) -> None:
        """Does nothing."""

    def add_repeat(self) -> None:
        """Does nothing."""

    def add_replay(self, served: int, epoch: int, loss: str) -> None:
        """Does nothing."""
