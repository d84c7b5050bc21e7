"""An environment with what robots observe, registered on import."""

from __future__ import annotations

from typing import Any

import numpy as np

import envwire.envs as gym

_PICTURE = gym.spaces.Box(0, 255, (8, 10, 3), np.uint8)


class Robot(gym.Env[Any, Any]):
    """Draws its observations; `cameras` says how many there are, none for one that has no name."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 12}

    def __init__(self, cameras: int = 0, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        named = {f"camera{number}": _PICTURE for number in range(cameras)}
        self.action_space = gym.spaces.Box(-1, 1, (2,))
        self.observation_space = gym.spaces.Dict(
            {
                "pixels": gym.spaces.Dict(named) if cameras else _PICTURE,
                "agent_pos": gym.spaces.Box(-1, 1, (2,)),
                "environment_state": gym.spaces.Box(-1, 1, (5,)),
                "gripper": gym.spaces.Box(-1, 1, (1,)),
            }
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), float(action.sum()), False, False, {}

    def render(self) -> Any:
        return np.zeros((8, 10, 3), np.uint8)


gym.register(id="tests/Robot-v0", entry_point=Robot, max_episode_steps=5)
