"""Where a session notes what is counted: the scoreboard in a session process, nowhere elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Counts(Protocol):
    """Notes what happened to a session."""

    def add_episodes(self, ended: Sequence[tuple[float, int]]) -> None:
        """Notes episodes that have ended, each with the sum of its rewards and its steps."""
        ...

    def add_repeat(self) -> None:
        """Notes that a request came again, and got the reply that was kept."""
        ...

    def add_replay(self, served: int, epoch: int, loss: str) -> None:
        """Notes that requests of a lost session were served.

        Args:
            served: How many.
            epoch: How many sessions of the environment were lost before this one.
            loss: Why the last of them was lost.
        """
        ...


class NotCounted:
    """Notes nothing."""

    def add_episodes(self, ended: Sequence[tuple[float, int]]) -> None:
        """Does nothing."""

    def add_repeat(self) -> None:
        """Does nothing."""

    def add_replay(self, served: int, epoch: int, loss: str) -> None:
        """Does nothing."""
