"""An environment of large observations."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

#: 50 MB, different at each step.
BYTES = 50_000_000


class Large(gym.Env[np.ndarray, int]):
    """Counts its steps in each byte."""

    observation_space = gym.spaces.Box(0, 255, (BYTES,), np.uint8)
    action_space = gym.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._count = 0
        return self._observation(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._count += 1
        return self._observation(), 0.0, False, False, {}

    def _observation(self) -> np.ndarray:
        return np.full(BYTES, self._count % 256, np.uint8)


gym.register(id="tests/Large-v0", entry_point="tests.farm.large_env:Large")
