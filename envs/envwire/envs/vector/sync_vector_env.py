"""A vector environment that steps its sub-environments one after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from envwire.envs._env import ActType, Info, ObsType, Options
from envwire.envs.core import Env, RenderFrame
from envwire.envs.vector.sub_environments import (
    STEPPERS,
    ArraysStep,
    ObservationMode,
    Seeds,
    VectorOfEnvs,
    check_spaces,
    pop_reset_mask,
    spread_seed,
)
from envwire.envs.vector.utils import concatenate, create_empty_array, iterate
from envwire.envs.vector.vector_env import AutoresetMode

__all__ = ["SyncVectorEnv"]


class SyncVectorEnv(VectorOfEnvs[ObsType, ActType]):
    """Many environments in this process, stepped in turn.

    Args:
        env_fns: One function per sub-environment, which makes it.
        copy: Whether `reset` and `step` return fresh observations instead of a reused buffer.
        observation_mode: ``"same"`` if all have the same observation space, ``"different"`` if only
            its kind, shape and dtype are the same, or a pair (batched space, single space).
        autoreset_mode: When a sub-environment whose episode has ended is reset.

    Raises:
        RuntimeError: The spaces of the sub-environments are incompatible.
        ValueError: There is no such observation or autoreset mode.
        TypeError: ``observation_mode`` is a pair of something other than spaces.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        copy: bool = True,
        observation_mode: ObservationMode = "same",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        super().__init__()
        self.env_fns = env_fns
        self.copy = copy
        self.observation_mode = observation_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.envs: list[Env] = [env_fn() for env_fn in env_fns]
        self.num_envs = len(self.envs)
        self._describe(self.envs[0], lambda: [env.observation_space for env in self.envs])
        expected = self.single_observation_space, self.single_action_space
        for index, env in enumerate(self.envs):
            actual = env.observation_space, env.action_space
            check_spaces(observation_mode, index, actual, expected)
        self._env_obs: list[Any] = [None] * self.num_envs
        self._observations: Any = create_empty_array(self.single_observation_space, self.num_envs)
        self._autoreset_envs = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Resets every sub-environment, or those that a mask selects.

        Args:
            seed: ``None``; an int, from which sub-environment i gets ``seed + i``; or one per
                sub-environment.
            options: For every sub-environment. A ``"reset_mask"``, a bool array of shape
                (num_envs,), is taken out of it and says which are reset; the others keep their
                observation.

        Raises:
            ValueError: The number of seeds, or the shape of the mask, is not num_envs.
            TypeError: The mask is not a bool array.
        """
        seeds = spread_seed(seed, self.num_envs)
        mask = pop_reset_mask(options, self.num_envs)
        self._autoreset_envs[mask] = False
        infos: dict[str, Any] = {}
        for index, (env, chosen) in enumerate(zip(self.envs, mask, strict=True)):
            if chosen:
                self._env_obs[index], info = env.reset(seed=seeds[index], options=options)
                infos = self._add_info(infos, info, index)
        return self._observe(), infos

    def step(self, actions: ActType) -> ArraysStep[ObsType]:
        """Steps every sub-environment; in ``NEXT_STEP`` mode resets those that have ended.

        Raises:
            AssertionError: In ``DISABLED`` mode, if an episode has ended and was not reset.
        """
        infos: dict[str, Any] = {}
        step = STEPPERS[self.autoreset_mode]
        ended: list[bool] = self._autoreset_envs.tolist()
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        split = iterate(self.action_space, cast("Any", actions))
        for index, (env, action) in enumerate(zip(self.envs, split, strict=True)):
            self._env_obs[index], rewards[index], terminations[index], truncations[index], info = (
                step(env, action, ended[index])
            )
            infos = self._add_info(infos, info, index)
        self._autoreset_envs = terminations | truncations
        return self._observe(), rewards, terminations, truncations, infos

    def _observe(self) -> ObsType:
        self._observations = concatenate(
            self.single_observation_space, self._env_obs, self._observations
        )
        return self._show(self._observations)

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Returns the frames of all sub-environments."""
        return tuple(cast("RenderFrame", env.render()) for env in self.envs)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every sub-environment, or reads an attribute; returns the results."""
        found = [env.get_wrapper_attr(name) for env in self.envs]
        return tuple(each(*args, **kwargs) if callable(each) else each for each in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of every sub-environment (or the result, if it is a method)."""
        return self.call(name)

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Sets an attribute of every sub-environment.

        Args:
            name: The attribute.
            values: A list or tuple with one value each, or one value for all.

        Raises:
            ValueError: There are not num_envs values.
        """
        for env, value in zip(self.envs, self._spread(name, values), strict=True):
            env.set_wrapper_attr(name, value)

    def close_extras(self, **kwargs: Any) -> None:
        """Closes every sub-environment."""
        del kwargs
        for env in getattr(self, "envs", ()):
            env.close()
