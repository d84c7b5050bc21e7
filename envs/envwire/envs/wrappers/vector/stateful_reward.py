"""Vector wrappers that change rewards depending on earlier rewards."""

from __future__ import annotations

import numpy as np

from envwire.envs._env import ActType, Array, Info, ObsType, Options, VectorStep
from envwire.envs.utils.record_constructor import RecordConstructorArgs
from envwire.envs.vector.vector_env import AutoresetMode, VectorEnv, VectorWrapper
from envwire.envs.wrappers.utils import RunningMeanStd, require_discount, require_positive

__all__ = ["NormalizeReward"]


class NormalizeReward(
    VectorWrapper[ObsType, ActType, ObsType, ActType, "Array"], RecordConstructorArgs
):
    """Divides rewards by the running standard deviation of the discounted return.

    Args:
        env: The vector environment to wrap.
        gamma: The discount, in [0, 1].
        epsilon: Added to the variance, > 0.

    Attributes:
        update_running_mean: Whether new rewards count; switch it off to evaluate.

    Raises:
        InvalidBound: ``gamma`` or ``epsilon`` is out of range.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Array],
        gamma: float = 0.99,
        epsilon: float = 1e-8,
    ) -> None:
        require_discount(gamma)
        require_positive("epsilon", epsilon)
        RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        VectorWrapper.__init__(self, env)
        self.return_rms = RunningMeanStd(shape=())
        self.accumulated_reward: Array = np.zeros(self.num_envs, dtype=np.float32)
        self.gamma = gamma
        self.epsilon = epsilon
        self.update_running_mean = True
        self._ended: Array = np.zeros(self.num_envs, dtype=np.bool_)
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._same_step = mode is AutoresetMode.SAME_STEP

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets the environments and the discounted returns."""
        self.accumulated_reward[:] = 0
        self._ended[:] = False
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: ActType) -> VectorStep[ObsType, Array]:
        """Steps, and normalises the rewards."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        # Where the step before ended an episode, this one was its reset and has no reward.
        active = ~self._ended | self._same_step
        carried = self.accumulated_reward[active] * self.gamma * (1 - terminated[active])
        self.accumulated_reward[active] = carried + rewards[active]
        if self.update_running_mean and active.any():
            self.return_rms.update(self.accumulated_reward[active])
        self._ended = np.logical_or(terminated, truncated)
        if self._same_step:
            self.accumulated_reward[self._ended] = 0
        normalized = rewards / np.sqrt(self.return_rms.var + self.epsilon)
        return observations, normalized, terminated, truncated, infos
