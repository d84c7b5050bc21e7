"""An environment whose rendering could disturb a run: it draws random numbers, warns, prints and reuses an array."""

from __future__ import annotations

import random
import time
import warnings
from typing import Any

import gymnasium as gym
import numpy as np


class Painted(gym.Env[np.ndarray, int]):
    """Observes numbers of all generators that there are."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, render_mode: str | None = None, says: str = "", trouble: str = "") -> None:
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float64)
        self.action_space = gym.spaces.Discrete(3)
        self._canvas = np.zeros((400, 641, 3), np.uint8)
        self._steps = 0
        self._trouble = trouble
        if says:
            print(says, flush=True)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            np.random.seed(seed)
            random.seed(seed)
        self._steps = 0
        return self._observe(), {}

    def step(self, action: int) -> Any:
        self._steps += 1
        if action == 2:
            raise ValueError("the paint is wet")
        return self._observe(), self.np_random.random(), False, self._steps % 50 == 0, {}

    def _observe(self) -> np.ndarray:
        return np.array([self.np_random.random(), np.random.random(), random.random(), self._steps])

    def render(self) -> np.ndarray:
        if self._trouble == "raises":
            raise ValueError("out of paint")
        while self._trouble == "hangs":
            time.sleep(1)
        warnings.warn("a picture is taken", UserWarning, stacklevel=2)
        self._canvas[:] = self.np_random.integers(256, size=3)
        self._canvas[0, 0] = np.random.randint(256), random.randrange(256), self._steps % 256
        return self._canvas


gym.register(id="tests/Painted-v0", entry_point="tests.operations.painted_envs:Painted")
