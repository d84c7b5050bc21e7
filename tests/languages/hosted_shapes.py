"""Environments to compare libraries in other languages on: dictionaries, tuples, images; registered on import."""

from __future__ import annotations

from typing import Any

import numpy as np

import envwire.envs as gym

_BOX = gym.spaces.Box(-2, 2, (3,), np.float32)


class Parts(gym.Env[Any, Any]):
    """Observations and actions are made of parts; what happens depends on the generator and the action."""

    def __init__(self, as_tuple: bool = False) -> None:
        parts = {
            "position": _BOX,
            "room": gym.spaces.Discrete(7),
            "keys": gym.spaces.MultiBinary(4),
        }
        moves = {"push": _BOX, "turn": gym.spaces.MultiDiscrete([3, 4])}
        self._as_tuple = as_tuple
        space = gym.spaces.Tuple if as_tuple else gym.spaces.Dict
        self.observation_space = space(list(parts.values()) if as_tuple else parts)
        self.action_space = space(list(moves.values()) if as_tuple else moves)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._position = self.np_random.uniform(-1, 1, 3).astype(np.float32)
        return self._observation(), {"options": options, "draw": self.np_random.random()}

    def _observation(self) -> Any:
        room = np.int64(self.np_random.integers(7))
        keys = self.np_random.integers(0, 2, 4).astype(np.int8)
        parts = (self._position.copy(), room, keys)
        return (
            parts if self._as_tuple else dict(zip(("position", "room", "keys"), parts, strict=True))
        )

    def step(self, action: Any) -> Any:
        push, turn = action if self._as_tuple else (action["push"], action["turn"])
        self._position = np.clip(self._position + push * np.float32(0.1), -2, 2)
        reward = float(self._position.sum()) + int(turn.sum())
        ends = bool(self.np_random.random() < 0.02)
        info = {"turn": (int(turn[0]), [int(turn[1]), None]), 7: b"\x00\xff", "big": 2**70}
        return self._observation(), reward, ends, False, info


class Picture(gym.Env[Any, Any]):
    """Observations are images, each another one."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(0, 255, (84, 84, 3), np.uint8)
        self.action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self._draw(), {}

    def _draw(self) -> Any:
        self._frame = self.np_random.integers(0, 256, (84, 84, 3), np.uint8)
        return self._frame

    def step(self, action: int) -> Any:
        return self._draw() + np.uint8(action), 0.5 * int(action), False, False, {}

    def render(self) -> Any:
        return self._frame


gym.register(id="tests/Parts-v0", entry_point="tests.languages.hosted_shapes:Parts")
gym.register(
    id="tests/Picture-v0",
    entry_point="tests.languages.hosted_shapes:Picture",
    max_episode_steps=100,
)
