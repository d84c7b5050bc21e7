"""A vector environment that steps its sub-environments one after another in this process."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs._generic import ActType, Info, ObsType, Options
from envwire.envs.type_guards import is_array
from envwire.envs.vector.autoreset import STEPPERS
from envwire.envs.vector.observation_mode import batch_observations, check_spaces
from envwire.envs.vector.reset_arguments import Seeds, pop_reset_mask, spread_seed
from envwire.envs.vector.utils import batch_space, concatenate, create_empty_array, iterate
from envwire.envs.vector.vector_env import AutoresetMode, VectorEnv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from envwire.envs.core import Env, RenderFrame
    from envwire.envs.vector.observation_mode import ObservationMode

__all__ = ["SyncVectorEnv"]

_Bools: TypeAlias = NDArray[np.bool_]


class SyncVectorEnv(VectorEnv[ObsType, ActType, NDArray[Any]]):
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
        first = self.envs[0]
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_action_space = first.action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space, self.single_observation_space = batch_observations(
            observation_mode,
            first.observation_space,
            lambda: [env.observation_space for env in self.envs],
            self.num_envs,
        )
        expected = self.single_observation_space, self.single_action_space
        for index, env in enumerate(self.envs):
            actual = env.observation_space, env.action_space
            check_spaces(observation_mode, index, actual, expected)
        self._allocate()

    def _allocate(self) -> None:
        self._env_obs: list[Any] = [None] * self.num_envs
        self._observations: Any = create_empty_array(
            self.single_observation_space, n=self.num_envs, fn=np.zeros
        )
        self._rewards: NDArray[np.float64] = np.zeros(self.num_envs, dtype=np.float64)
        self._terminations: _Bools = np.zeros(self.num_envs, dtype=np.bool_)
        self._truncations: _Bools = np.zeros(self.num_envs, dtype=np.bool_)
        self._autoreset_envs: _Bools = np.zeros(self.num_envs, dtype=np.bool_)

    # The sub-environments have a generator each, so each property returns a tuple.
    if not TYPE_CHECKING:
        np_random = property(lambda self: self.get_attr("np_random"))
        np_random_seed = property(lambda self: self.get_attr("np_random_seed"))

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
        for flags in (self._terminations, self._truncations, self._autoreset_envs):
            flags[mask] = False
        infos: dict[str, Any] = {}
        for index, (env, chosen) in enumerate(zip(self.envs, mask, strict=True)):
            if chosen:
                self._env_obs[index], info = env.reset(seed=seeds[index], options=options)
                infos = self._add_info(infos, info, index)
        return self._observe(), infos

    def step(self, actions: ActType) -> tuple[ObsType, NDArray[np.float64], _Bools, _Bools, Info]:
        """Steps every sub-environment; in ``NEXT_STEP`` mode resets those that have ended.

        Raises:
            AssertionError: In ``DISABLED`` mode, if an episode has ended and was not reset.
        """
        infos: dict[str, Any] = {}
        step = STEPPERS[self.autoreset_mode]
        ended: list[bool] = self._autoreset_envs.tolist()
        split = iterate(self.action_space, cast("Any", actions))
        for index, (env, action) in enumerate(zip(self.envs, split, strict=True)):
            observation, reward, terminated, truncated, info = step(env, action, ended[index])
            self._env_obs[index] = observation
            self._rewards[index] = reward
            self._terminations[index] = terminated
            self._truncations[index] = truncated
            infos = self._add_info(infos, info, index)
        self._autoreset_envs = self._terminations | self._truncations
        return (
            self._observe(),
            np.array(self._rewards),
            np.array(self._terminations),
            np.array(self._truncations),
            infos,
        )

    def _observe(self) -> ObsType:
        self._observations = concatenate(
            self.single_observation_space, self._env_obs, self._observations
        )
        return cast("ObsType", fresh(self._observations) if self.copy else self._observations)

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
        each = spread_values(name, values, self.num_envs)
        for env, value in zip(self.envs, each, strict=True):
            env.set_wrapper_attr(name, value)

    def close_extras(self, **kwargs: Any) -> None:
        """Closes every sub-environment."""
        del kwargs
        for env in getattr(self, "envs", ()):
            env.close()


def fresh(observations: Any) -> Any:
    """Returns a copy of a batch that shares nothing with it."""
    if is_array(observations) and observations.dtype != object:
        return np.copy(observations)  # much cheaper than a deepcopy
    return deepcopy(observations)


def spread_values(name: str, values: Any, num_envs: int) -> list[Any]:
    """Returns one value of an attribute per sub-environment.

    Raises:
        ValueError: ``values`` is a list or tuple of another length.
    """
    if not isinstance(values, list | tuple):
        return [values] * num_envs
    each = list(cast("list[Any]", values))
    if len(each) != num_envs:
        raise ValueError(f"Expected {num_envs} values for {name!r}, got {len(each)}")
    return each
