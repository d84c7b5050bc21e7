"""Wrappers that change a reward depending on earlier rewards."""

from __future__ import annotations

from typing import Any, SupportsFloat, cast

import numpy as np

from envwire.envs._env import ActType, Info, ObsType
from envwire.envs.core import Env, Wrapper
from envwire.envs.utils.record_constructor import RecordConstructorArgs
from envwire.envs.wrappers.utils import RunningMeanStd, require_discount, require_positive

__all__ = ["NormalizeReward"]


class NormalizeReward(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Divides rewards by the running standard deviation of the discounted return.

    Args:
        env: The environment to wrap.
        gamma: The discount, in [0, 1].
        epsilon: Added to the variance, > 0.

    Attributes:
        update_running_mean: Whether new rewards count; switch it off to evaluate.

    Raises:
        InvalidBound: ``gamma`` or ``epsilon`` is out of range.
    """

    def __init__(
        self, env: Env[ObsType, ActType], gamma: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        require_discount(gamma)
        require_positive("epsilon", epsilon)
        RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        Wrapper.__init__(self, env)
        self.return_rms = RunningMeanStd(shape=())
        self.discounted_reward = np.array([0.0])
        self.gamma = gamma
        self.epsilon = epsilon
        self.update_running_mean = True

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps, and normalises the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        carried = self.discounted_reward * self.gamma * (1 - terminated)
        self.discounted_reward = carried + float(reward)
        if self.update_running_mean:
            self.return_rms.update(self.discounted_reward)
        normalized = cast("Any", reward) / np.sqrt(self.return_rms.var + self.epsilon)
        return observation, normalized, terminated, truncated, info
