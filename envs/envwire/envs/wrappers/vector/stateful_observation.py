"""Vector wrappers that change observations depending on earlier observations."""

from __future__ import annotations

import numpy as np

from envwire.envs import logger
from envwire.envs._env import ActType, Array, ArrayType, Info, Options
from envwire.envs.spaces import Box
from envwire.envs.spaces.batched_spaces import batch_space
from envwire.envs.utils.record_constructor import RecordConstructorArgs
from envwire.envs.vector.vector_env import AutoresetMode, VectorEnv, VectorObservationWrapper
from envwire.envs.wrappers.utils import RunningMeanStd, require_positive

__all__ = ["NormalizeObservation"]


class NormalizeObservation(
    VectorObservationWrapper["Array", ActType, "Array", ArrayType], RecordConstructorArgs
):
    """Normalises observations by their running mean and standard deviation.

    Args:
        env: The vector environment to wrap, which resets on the next step.
        epsilon: Added to the variance, > 0.

    Attributes:
        update_running_mean: Whether new observations count; switch it off to evaluate.

    Raises:
        InvalidBound: ``epsilon`` is not positive.
        ValueError: The environment has another autoreset mode.
    """

    def __init__(self, env: VectorEnv[Array, ActType, ArrayType], epsilon: float = 1e-8) -> None:
        require_positive("epsilon", epsilon)
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        VectorObservationWrapper.__init__(self, env)
        mode = env.metadata.get("autoreset_mode")
        if mode is None:
            logger.warn(f"NormalizeObservation assumes that {env} resets on the next step.")
        elif mode is not AutoresetMode.NEXT_STEP:
            raise ValueError(f"NormalizeObservation needs autoreset_mode NEXT_STEP, got {mode}")
        shape = env.single_observation_space.shape or ()
        self.single_observation_space = Box(-np.inf, np.inf, shape=shape, dtype=np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.obs_rms = RunningMeanStd(shape=shape, dtype=np.float32)
        self.epsilon = epsilon
        self.update_running_mean = True

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Array, Info]:
        """Resets every sub-environment.

        Raises:
            ValueError: A mask in ``options`` does not select all.
        """
        if options is not None and not np.all(options.get("reset_mask", True)):
            raise ValueError("NormalizeObservation can only reset all sub-environments at once")
        return super().reset(seed=seed, options=options)

    def observations(self, observations: Array) -> Array:
        """Returns the normalised observations, in float32."""
        if self.update_running_mean:
            self.obs_rms.update(observations)
        deviation = np.sqrt(self.obs_rms.var + self.epsilon)
        return np.asarray((observations - self.obs_rms.mean) / deviation, dtype=np.float32)
