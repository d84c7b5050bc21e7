"""A remote environment that is a `dm_env.Environment`. Needs `envwire[dm_env]`.

>>> from envwire.client.dm_env import RemoteEnvironment
>>> env = RemoteEnvironment("localhost:50051", "CartPole-v1", seed=42)
>>> timestep = env.reset()
>>> timestep = env.step(env.action_spec().generate_value())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.client._env.dm_specs import action_for, spec_of
from envwire.client.env import RemoteEnv

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
        try:
            self._observation_spec = spec_of(self._remote.observation_space, "observation")
            self._action_spec = spec_of(self._remote.action_space, "action")
        except BaseException:
            self._remote.close()
            raise
        self._seed = seed
        self._fresh = True
        self.info: dict[str, Any] = {}

    def reset(self) -> Any:
        """Starts an episode and returns its first `TimeStep`."""
        observation, self.info = self._remote.reset(seed=self._seed)
        self._seed, self._fresh = None, False
        return _dm_env.restart(observation)

    def step(self, action: Any) -> Any:
        """Takes a step; a new environment, or one whose episode has ended, is reset instead."""
        if self._fresh:
            return self.reset()
        taken = action_for(self._remote.action_space, action)
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


__all__ = ["RemoteEnvironment"]
