"""An environment with all spaces for which dm_env has specs, registered on import."""

from __future__ import annotations

from typing import Any

import numpy as np

import envwire.envs as gym
from envwire.envs import spaces

_KINDS = {
    "box": spaces.Box(-1, 1, (2, 3), np.float32),
    "discrete": spaces.Discrete(4),
    "shifted": spaces.Discrete(4, start=-2),
    "many": spaces.MultiDiscrete([3, 4], start=[1, -1]),
    "bits": spaces.MultiBinary(3),
    "text": spaces.Text(6, min_length=0),
    "pair": spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 255, (1,), np.uint8)]),
}


class Kinds(gym.Env[Any, Any]):
    """Draws its observations, and refuses an action that is not in its space; ends after `length` steps."""

    def __init__(self, length: int = 7) -> None:
        self.observation_space, self.action_space = spaces.Dict(_KINDS), spaces.Dict(_KINDS)
        self._length = length

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self._steps = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        if not self.action_space.contains(action):
            raise ValueError(f"{action} is not in the space")
        self._steps += 1
        return self.observation_space.sample(), self._steps, self._steps == self._length, False, {}


gym.register(id="tests/Kinds-v0", entry_point="tests.dm_env.hosted:Kinds")
