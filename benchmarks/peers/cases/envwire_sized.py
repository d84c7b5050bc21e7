"""The trivial environment for envwire: always the same observation, of a given size. Registered on import."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import envwire.envs as gym
from benchmarks.peers.setup import Setup


class Sized(gym.Env[NDArray[Any], Any]):
    """Returns the same preallocated observation, reward 1.0, and never ends.

    Args:
        size: Bytes of an observation.
    """

    def __init__(self, size: int) -> None:
        setup = Setup(size=size)
        self._observation = np.zeros(setup.shape, setup.dtype)
        self.observation_space = gym.spaces.Box(0, 255, setup.shape, np.dtype(setup.dtype).type)
        self.action_space = gym.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Returns the observation."""
        super().reset(seed=seed, options=options)
        return self._observation, {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Returns the observation, whatever the action."""
        del action
        return self._observation, 1.0, False, False, {}


# The checker warns once about an observation that is not copied. A copy would distort the measurement.
gym.register("benchmarks/Sized-v0", entry_point=f"{__name__}:Sized", disable_env_checker=True)
