"""Environments registered on import: one of texts, as language agents have, and one of numbers that JSON lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

import envwire.envs as gym


class Echo(gym.Env[Any, Any]):
    """Observes the last text and its length; "stop" ends the episode, "raise" raises."""

    def __init__(self) -> None:
        self.action_space = gym.spaces.Dict(
            {"text": gym.spaces.Text(64), "loudness": gym.spaces.Box(0, 1, (2,))}
        )
        self.observation_space = gym.spaces.Dict(
            {"said": gym.spaces.Text(64, min_length=0), "length": gym.spaces.Discrete(65)}
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self._observation((options or {}).get("greeting", "")), {"seed": seed}

    def step(self, action: Any) -> Any:
        if action["text"] == "raise":
            raise RuntimeError("asked to raise")
        loudness = float(action["loudness"].sum())
        return self._observation(action["text"]), loudness, action["text"] == "stop", False, {}

    def _observation(self, text: str) -> dict[str, Any]:
        return {"said": text, "length": len(text)}


class Infinite(gym.Env[Any, Any]):
    """Observes its last action; its rewards are infinite, and its infos have keys and numbers of NumPy."""

    action_space = observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return np.array([np.nan, np.inf, 1.0]), {np.int64(3): np.uint64(2**63), "least": -np.inf}

    def step(self, action: Any) -> Any:
        return action, float("-inf"), False, False, {"nested": [np.float32("nan")]}


gym.register(id="tests/Infinite-v0", entry_point="tests.bridges.hosted_text:Infinite")
gym.register(id="tests/Echo-v0", entry_point="tests.bridges.hosted_text:Echo")
