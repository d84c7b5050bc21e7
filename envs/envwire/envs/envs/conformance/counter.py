"""`Conformance/Counter-v0`: counts, so that a lost or repeated step shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env
from envwire.envs.envs.rendering import render_metadata


class CounterEnv(Env["NDArray[np.int64]", "int | np.integer[Any]"]):
    """An observation is ``[steps of the episode, sum of its actions]``, an int64 array of shape (2,).

    The reward is the action as a float. The step with number `length` terminates the episode. ``info["draw"]`` of a
    reset is the first float64 that the episode draws from `np_random`.

    Args:
        render_mode: ``"rgb_array"``, a frame of the shape (8, 8, 3) filled with the steps; ``"ansi"``, the steps as
            a text; or ``None``.
        length: Steps of an episode.
    """

    metadata = render_metadata("rgb_array", "ansi", fps=10)

    def __init__(self, render_mode: str | None = None, length: int = 10) -> None:
        self.render_mode = render_mode
        self.length = length
        self.observation_space = spaces.Box(0, 2**62, (2,), np.int64)
        self.action_space = spaces.Discrete(2)
        self.steps = 0
        self.sum = 0

    def _observe(self) -> NDArray[np.int64]:
        return np.array([self.steps, self.sum], np.int64)

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[NDArray[np.int64], Info]:
        """Counts from 0 again, and draws once."""
        super().reset(seed=seed, options=options)
        self.steps, self.sum = 0, 0
        return self._observe(), {"draw": float(self.np_random.random())}

    def step(
        self, action: int | np.integer[Any]
    ) -> tuple[NDArray[np.int64], float, bool, bool, Info]:
        """Counts.

        Raises:
            ValueError: The action is neither 0 nor 1.
        """
        if action not in (0, 1):
            raise ValueError(f"action {action!r}: expected 0 or 1")
        self.add(int(action))
        return self._observe(), float(action), self.steps == self.length, False, {}

    def add(self, amount: int) -> int:
        """Counts a step, adds to the sum, and returns the sum."""
        self.steps += 1
        self.sum += amount
        return self.sum

    def render(self) -> Any:
        """Shows the steps."""
        if self.render_mode == "ansi":
            return str(self.steps)
        if self.render_mode == "rgb_array":
            return np.full((8, 8, 3), self.steps % 256, np.uint8)
        return None

    def get_state(self) -> tuple[int, int]:
        """Returns the state."""
        return self.steps, self.sum

    def set_state(self, state: tuple[int, int]) -> None:
        """Returns to a state."""
        self.steps, self.sum = state
