"""An environment whose step takes a chosen amount of processor time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import envwire.envs as gym

BUSY = "cores/Busy-v0"


class Busy(gym.Env[Any, Any]):
    """Computes for a while in each step, and counts its steps.

    Args:
        seconds: How long a step computes.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.observation_space = gym.spaces.Box(0, np.inf, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        self._seconds, self._observation = seconds, np.zeros(4, np.float32)

    def reset(self, *, seed: int | None = None, **_: Any) -> Any:
        """Starts to count."""
        super().reset(seed=seed)
        self._observation = np.zeros(4, np.float32)
        return self._observation, {}

    def step(self, action: int) -> Any:
        """Computes."""
        del action
        until = time.thread_time() + self._seconds
        while self._seconds and time.thread_time() < until:
            pass
        self._observation = self._observation + 1
        return self._observation, 0.0, False, False, {}


gym.register(id=BUSY, entry_point="benchmarks.cores_envs:Busy", disable_env_checker=True)
