"""An environment that takes as long for a step as a robot does."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import envwire.envs as gym

ROBOT = "wide/Robot-v0"


class Robot(gym.Env[Any, Any]):
    """Counts its steps.

    Args:
        seconds: How long a step takes.
    """

    def __init__(self, seconds: float = 0.02) -> None:
        self.observation_space = gym.spaces.Box(0, np.inf, (1,), np.float64)
        self.action_space = gym.spaces.Discrete(2)
        self._seconds, self._steps = seconds, 0

    def reset(self, *, seed: int | None = None, **_: Any) -> Any:
        """Starts to count."""
        super().reset(seed=seed)
        self._steps = 0
        return np.zeros(1), {}

    def step(self, action: int) -> Any:
        """Takes its time."""
        del action
        time.sleep(self._seconds)
        self._steps += 1
        return np.array([float(self._steps)]), 0.0, False, False, {}


gym.register(id=ROBOT, entry_point="benchmarks.wide_area_envs:Robot", disable_env_checker=True)
