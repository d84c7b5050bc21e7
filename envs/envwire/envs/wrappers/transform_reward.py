"""Wrappers that change a reward by a function of that reward alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from envwire.envs._env import ActType, ObsType
from envwire.envs.core import Env, RewardWrapper, Wrapper
from envwire.envs.error import InvalidBound
from envwire.envs.utils.record_constructor import RecordConstructorArgs

__all__ = ["ClipReward", "TransformReward"]


class TransformReward(RewardWrapper[ObsType, ActType], RecordConstructorArgs):
    """Replaces each reward by ``func(reward)``.

    Args:
        env: The environment to wrap.
        func: Maps a reward to a reward.
    """

    def __init__(
        self, env: Env[ObsType, ActType], func: Callable[[SupportsFloat], SupportsFloat]
    ) -> None:
        RecordConstructorArgs.__init__(self, func=func)
        Wrapper.__init__(self, env)
        self.func = func

    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        """Returns ``func(reward)``."""
        return self.func(reward)


class ClipReward(TransformReward[ObsType, ActType]):
    """Clips rewards to [min_reward, max_reward], and `reward_range` with them.

    Args:
        env: The environment to wrap.
        min_reward: The lower bound; ``None`` for none.
        max_reward: The upper bound; ``None`` for none.

    Raises:
        InvalidBound: Both are ``None``, or in the wrong order.
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        min_reward: float | NDArray[Any] | None = None,
        max_reward: float | NDArray[Any] | None = None,
    ) -> None:
        if min_reward is None and max_reward is None:
            raise InvalidBound("ClipReward needs a min_reward, a max_reward, or both")
        if min_reward is not None and max_reward is not None and np.any(max_reward < min_reward):
            raise InvalidBound(
                f"min_reward ({min_reward}) must not exceed max_reward ({max_reward})"
            )

        bounds: Any = (min_reward, max_reward)

        def clip(reward: Any) -> Any:
            return np.asarray(reward).clip(*bounds)

        RecordConstructorArgs.__init__(self, min_reward=min_reward, max_reward=max_reward)
        TransformReward.__init__(self, env, clip)
        lowest, highest = env.reward_range
        self.reward_range = float(np.min(clip(lowest))), float(np.max(clip(highest)))
