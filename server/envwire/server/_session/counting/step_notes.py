"""Keeps the results of steps until the reply was sent, then counts their episodes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from envwire.server._session.counting.episodes import Ended, Result, episode_count

#: Immutable types of rewards, which can be added later.
_NUMBERS: Final = frozenset({float, int, np.float64, np.float32})
#: Largest number of rewards to keep before they are added.
_MAX_REWARDS: Final = 1023


class StepNotes:
    """The results of one session's steps.

    Args:
        env: Its environment.

    Attributes:
        episodes: Counts its episodes.
    """

    def __init__(self, env: Any) -> None:
        self.episodes = episode_count(env)
        self._rewards = self.episodes.rewards
        self._taken: Result | None = None

    def add(self, taken: Result) -> None:
        """Records a step; the caller calls `settle` before the next one."""
        if (
            type(taken[1]) in _NUMBERS  # most steps: only a number to keep
            and taken[2] is False
            and taken[3] is False
            and len(self._rewards) < _MAX_REWARDS
        ):
            self._rewards.append(taken[1])
        else:
            self._taken = taken

    def settle(self) -> Ended:
        """Returns the episodes that the last step ended."""
        taken, self._taken = self._taken, None
        return () if taken is None else self.episodes.step(taken)
