"""Environments that tell when they were made, how, and by which process; one cannot be made."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import numpy as np

import envwire.envs as gym

MADE, RAISING = "groups/Made-v0", "groups/Raising-v0"


class Made(gym.Env[np.ndarray, int]):
    """Observations are drawn from its generator; it warns, prints and tells of its making."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}

    def __init__(self, width: int = 1, render_mode: str | None = None) -> None:
        self.observation_space = gym.spaces.Box(0, 1, (width,), np.float64)
        self.action_space = gym.spaces.Discrete(2)
        self.render_mode = render_mode
        self.made_at, self.steps = time.monotonic(), 0
        warnings.warn(f"{width} wide", stacklevel=1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self._look(), {"made_at": self.made_at, "pid": os.getpid(), "steps": self.steps}

    def step(self, action: int) -> Any:
        self.steps += 1
        return self._look(), float(action), False, False, {"steps": self.steps}

    def _look(self) -> np.ndarray:
        return self.np_random.random(self.observation_space.shape)


class Raising(Made):
    """It cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("no simulator here")


gym.register(MADE, Made)
gym.register(RAISING, Raising)
