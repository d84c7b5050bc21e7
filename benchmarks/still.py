"""An environment that does nothing, with the spaces of CartPole: its step measures the transport alone."""

from __future__ import annotations

from typing import Any

import numpy as np

import envwire.envs as gym
from envwire.envs.spaces import Box, Discrete

ENV_ID = "Still-v0"


class Still(gym.Env[np.ndarray, int]):
    """Observes zeros, rewards with 1, and does not end."""

    def __init__(self) -> None:
        self.observation_space = Box(-1, 1, (4,))
        self.action_space = Discrete(2)

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 - the API has it
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Returns zeros."""
        super().reset(seed=seed)
        return np.zeros(4, np.float32), {}

    def step(
        self,
        action: int,  # noqa: ARG002 - the API has it
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Returns zeros and a reward of 1."""
        return np.zeros(4, np.float32), 1.0, False, False, {}


gym.register(id=ENV_ID, entry_point=Still, disable_env_checker=True, order_enforce=False)
