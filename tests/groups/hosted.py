"""An environment that tells where it runs, under the ids that the groups of the tests import."""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

import numpy as np

import envwire.envs as gym

VARIABLES = ("COLOUR", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


class Report(gym.Env[np.ndarray, int]):
    """The info of a reset tells the process, its variables and limits, and which modules of the tests it imported."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-1, 1, (), np.float64)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        info = {
            "pid": os.getpid(),
            "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
            "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "modules": sorted(name for name in sys.modules if name.startswith("tests.groups.of_")),
        }
        return np.zeros(()), info

    def step(self, action: int) -> Any:
        return np.zeros(()), 0.0, False, False, {}


class Marked(gym.Wrapper[Any, Any, Any, Any]):
    """A wrapper that only one group lists."""

    def step(self, action: Any) -> Any:
        return (*self.env.step(action)[:4], {"marked": True})
