"""A remote environment that is a `dm_env.Environment`. Needs `envwire[dm_env]`.

>>> from envwire.client.dm_env import RemoteEnvironment
>>> env = RemoteEnvironment("localhost:50051", "CartPole-v1", seed=42)
>>> timestep = env.reset()
>>> timestep = env.step(env.action_spec().generate_value())
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.client.env import RemoteEnv
from envwire.envs import spaces

#: dm_env has no types.
_dm_env: Any = import_module("dm_env")

if TYPE_CHECKING:

    class _Environment:
        """Stand-in for `dm_env.Environment`, for type checkers."""
else:
    _Environment = _dm_env.Environment


class RemoteEnvironment(_Environment):
    """An environment on a server, with dm_env's interface.

    An episode that terminates ends with discount 0, one that is truncated with discount 1. A `TimeStep` has no field
    for the info; the last one is in `info`.

    Args:
        target: HOST:PORT of the server, or a list of these.
        env_id: Id of the environment.
        seed: Seed of the first reset; later resets are not seeded.
        settings: Arguments of `envwire.client.RemoteEnv`, and keyword arguments of the environment.

    Attributes:
        info: The info of the last reset or step.

    Raises:
        ValueError: dm_env has no spec for one of the spaces.
        Exception: As `envwire.client.RemoteEnv`.
    """

    def __init__(
        self, /, target: Any, env_id: str, *, seed: int | None = None, **settings: Any
    ) -> None:
        self._remote = RemoteEnv(target, env_id, **settings)
        self._spaces: tuple[Any, Any] = None, None
        try:
            self._read_specs()
        except BaseException:
            self._remote.close()
            raise
        self._seed = seed
        self._fresh = True
        self.info: dict[str, Any] = {}

    def _read_specs(self) -> None:
        """Describes the spaces, unless they are those of the last time: a reset may replace them."""
        spaces = self._remote.observation_space, self._remote.action_space
        if spaces[0] is not self._spaces[0] or spaces[1] is not self._spaces[1]:
            self._observation_spec = _spec_of(spaces[0], "observation")
            self._action_spec = _spec_of(spaces[1], "action")
            self._spaces = spaces

    def reset(self) -> Any:
        """Starts an episode and returns its first `TimeStep`."""
        observation, self.info = self._remote.reset(seed=self._seed)
        self._read_specs()
        self._seed, self._fresh = None, False
        return _dm_env.restart(observation)

    def step(self, action: Any) -> Any:
        """Takes a step; a new environment, or one whose episode has ended, is reset instead."""
        if self._fresh:
            return self.reset()
        taken = _action_for(self._remote.action_space, action)
        observation, reward, terminated, truncated, self.info = self._remote.step(taken)
        self._fresh = terminated or truncated
        if terminated:
            return _dm_env.termination(float(reward), observation)
        ended = _dm_env.truncation if truncated else _dm_env.transition
        return ended(float(reward), observation)

    def observation_spec(self) -> Any:
        """Returns the spec of observations, nested like the space."""
        return self._observation_spec

    def action_spec(self) -> Any:
        """Returns the spec of actions."""
        return self._action_spec

    def reward_spec(self) -> Any:
        """Returns the spec of rewards, a float."""
        return _dm_env.specs.Array((), np.float64, "reward")

    def close(self) -> None:
        """Closes the environment on the server. Closing twice is harmless; `reset` makes it again."""
        self._remote.close()
        self._fresh = True


@singledispatch
def _spec_of(space: spaces.Space[Any], name: str) -> Any:
    """Returns the spec of a space.

    Raises:
        ValueError: dm_env has no spec for it.
    """
    raise ValueError(f"dm_env has no spec for the {name} space {space}; a wrapper can flatten it")


@_spec_of.register
def _(space: spaces.Box, name: str) -> Any:
    return _dm_env.specs.BoundedArray(space.shape, space.dtype, space.low, space.high, name)


@_spec_of.register
def _(space: spaces.Discrete, name: str) -> Any:
    if space.start == 0:
        return _dm_env.specs.DiscreteArray(int(space.n), np.int64, name)
    last = space.start + space.n - 1
    return _dm_env.specs.BoundedArray((), np.int64, space.start, last, name)


@_spec_of.register
def _(space: spaces.MultiDiscrete, name: str) -> Any:
    last = space.start + space.nvec - 1
    return _dm_env.specs.BoundedArray(space.shape, space.dtype, space.start, last, name)


@_spec_of.register
def _(space: spaces.MultiBinary, name: str) -> Any:
    return _dm_env.specs.BoundedArray(space.shape, space.dtype, 0, 1, name)


@_spec_of.register
def _(_space: spaces.Text, name: str) -> Any:
    return _dm_env.specs.StringArray((), name=name)


@_spec_of.register
def _(space: spaces.Dict, name: str) -> Any:
    return {key: _spec_of(item, f"{name}/{key}") for key, item in space.spaces.items()}


@_spec_of.register
def _(space: spaces.Tuple, name: str) -> Any:
    return tuple(_spec_of(item, f"{name}/{index}") for index, item in enumerate(space.spaces))


@singledispatch
def _action_for(_space: spaces.Space[Any], action: Any) -> Any:
    """Converts an action to the space's type: dm_env's agents return 0-d arrays for numbers and strings."""
    return action


@_action_for.register
def _(_space: spaces.Discrete, action: Any) -> Any:
    return int(action)


@_action_for.register
def _(_space: spaces.Text, action: Any) -> Any:
    return str(action)


@_action_for.register
def _(space: spaces.Dict, action: Any) -> Any:
    return {key: _action_for(item, action[key]) for key, item in space.spaces.items()}


@_action_for.register
def _(space: spaces.Tuple, action: Any) -> Any:
    return tuple(_action_for(item, each) for item, each in zip(space.spaces, action, strict=True))


__all__ = ["RemoteEnvironment"]
