"""Environments like those at the other end of a wide-area link: a robot that takes its time, and pictures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import envwire.envs as gym

ROBOT, PICTURES = "wide/Robot-v0", "wide/Pictures-v0"
#: As many as are drawn; then they begin again.
_PICTURES = 16


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


class Pictures(gym.Env[Any, Any]):
    """Shows a shaded scene in which a textured ball moves, as a renderer or as a camera shows it.

    Args:
        shape: Height, width and channels.
        noisy: Whether each picture has the noise of a sensor, with a standard deviation of 2.
    """

    def __init__(self, shape: Sequence[int] = (480, 640, 3), noisy: bool = False) -> None:
        self.observation_space = gym.spaces.Box(0, 255, tuple(shape), np.uint8)
        self.action_space = gym.spaces.Discrete(2)
        self._shape, self._noisy, self._steps = tuple(shape), noisy, 0
        self._pictures: list[Any] = []

    def reset(self, *, seed: int | None = None, **_: Any) -> Any:
        """Draws all pictures, as drawing one takes longer than a step."""
        super().reset(seed=seed)
        rows, columns = np.mgrid[: self._shape[0], : self._shape[1]]
        shade = rows * 120 // self._shape[0] + (rows // 16 + columns // 16) % 2 * 40
        floor = np.repeat(shade[..., None], self._shape[2], axis=2)
        side = self._shape[0] // 4
        ball = np.random.default_rng(7).integers(90, 110, (side, side, self._shape[2]))
        self._pictures = [self._picture(floor, ball, 3 * step) for step in range(_PICTURES)]
        return self._pictures[0], {}

    def step(self, action: int) -> Any:
        """Moves the ball by a few pixels."""
        del action
        self._steps += 1
        return self._pictures[self._steps % _PICTURES], 0.0, False, False, {}

    def _picture(self, floor: Any, ball: Any, left: int) -> Any:
        picture, side = floor.copy(), len(ball)
        picture[side : 2 * side, left : left + side] = ball
        if self._noisy:
            picture = picture + self.np_random.normal(0, 2, self._shape)
        return picture.clip(0, 255).astype(np.uint8)


gym.register(
    id=PICTURES, entry_point="benchmarks.wide_area_envs:Pictures", disable_env_checker=True
)
