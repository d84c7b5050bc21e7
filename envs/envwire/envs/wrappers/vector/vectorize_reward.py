"""Vector wrappers that change rewards by a function of those rewards alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from envwire.envs._env import ActType, Array, ArrayType, ObsType
from envwire.envs.core import Env
from envwire.envs.vector.vector_env import VectorEnv, VectorRewardWrapper
from envwire.envs.wrappers import transform_reward

__all__ = ["ClipReward", "TransformReward", "VectorizeTransformReward"]


class TransformReward(VectorRewardWrapper[ObsType, ActType, ArrayType]):
    """Replaces rewards by ``func(rewards)``.

    Args:
        env: The vector environment to wrap.
        func: Maps an array of rewards, of shape (num_envs,), to another.
    """

    def __init__(
        self, env: VectorEnv[ObsType, ActType, ArrayType], func: Callable[[ArrayType], ArrayType]
    ) -> None:
        super().__init__(env)
        self.func = func

    def rewards(self, rewards: ArrayType) -> ArrayType:
        """Returns ``func(rewards)``."""
        return self.func(rewards)


class VectorizeTransformReward(VectorRewardWrapper[ObsType, ActType, "Array"]):
    """Applies a wrapper for single environments to each reward.

    Args:
        env: The vector environment to wrap.
        wrapper: A `wrappers.TransformReward` or a subclass.
        **kwargs: The arguments of the wrapper.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Array],
        wrapper: type[transform_reward.TransformReward],
        **kwargs: Any,
    ) -> None:
        super().__init__(env)
        self.wrapper = wrapper(Env[Any, Any](), **kwargs)

    def rewards(self, rewards: Array) -> Array:
        """Returns the array with each element changed."""
        for index, reward in enumerate(rewards):
            rewards[index] = self.wrapper.func(reward)
        return rewards


class ClipReward(VectorizeTransformReward[ObsType, ActType]):
    """Clips rewards to [min_reward, max_reward]; see `wrappers.ClipReward`."""

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Array],
        min_reward: float | Array | None = None,
        max_reward: float | Array | None = None,
    ) -> None:
        bounds = {"min_reward": min_reward, "max_reward": max_reward}
        super().__init__(env, transform_reward.ClipReward, **bounds)
