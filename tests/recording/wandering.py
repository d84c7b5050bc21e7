"""An environment that leaves the server's directory while it is made, registered on import."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import envwire.envs as gym


class Wandering(gym.Env[Any, Any]):
    """Works somewhere else."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        os.chdir(tempfile.gettempdir())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return 0, {}

    def step(self, action: Any) -> Any:
        return 0, 0.0, False, False, {}


gym.register("wandering/Wandering-v0", entry_point="tests.recording.wandering:Wandering")
