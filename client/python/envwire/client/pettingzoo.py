"""Remote PettingZoo environments that are `pettingzoo.ParallelEnv` and `pettingzoo.AECEnv`. Needs PettingZoo.

    >>> from envwire.client.pettingzoo import AECEnv
    >>> env = AECEnv("localhost:50051", "classic/tictactoe-v3")
    >>> env.reset(seed=42)
    >>> observation, reward, termination, truncation, info = env.last()

Each holds a `RemoteEnv` whose observations, rewards and flags are dicts by agent, and returns them as PettingZoo does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from envwire.client._env.attributes import defines, is_own, warn_of_own
from envwire.client.gymnasium import RemoteEnv

if TYPE_CHECKING:  # type checkers need no PettingZoo; at run time its classes are the bases

    class _AECBase:
        """Stand-in for `pettingzoo.AECEnv`, for type checkers."""

    class _ParallelBase:
        """Stand-in for `pettingzoo.ParallelEnv`, for type checkers."""
else:
    from pettingzoo import AECEnv as _AECBase
    from pettingzoo import ParallelEnv as _ParallelBase


#: The attributes of an `AECEnv` that each answer sets.
_STATE = ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos")


class _Remote(RemoteEnv):
    """The remote environment inside `ParallelEnv` and `AECEnv`."""

    def __str__(self) -> str:
        return str(self._handle)

    def call(self, name: str, *args: Any) -> Any:
        return self._call_method(name, *args)


class RemoteAgents:
    """Base of `ParallelEnv` and `AECEnv`: constructor, the `RemoteEnv` inside, and the agents' spaces.

    The constructor connects and makes the environment. `close()` may be called twice; `reset()` after `close()`, or
    after the session was lost, makes the environment again. Attributes that PettingZoo does not define are read from
    the environment.

    Args:
        target: HOST:PORT of the server. Ignored by an in-process transport.
        env_id: PettingZoo's id, such as "butterfly/pistonball-v6" or "butterfly/pistonball_v6".
        render_mode: Render mode for the life of the proxy.
        settings: Arguments of `envwire.client.RemoteEnv`, except `library`, and keyword arguments of the environment.

    Raises:
        ValueError: `on_lost` is "truncate".
        Exception: As `envwire.client.RemoteEnv`.
    """

    _library: str
    agents: list[Any]

    def __init__(
        self, /, target: str | None, env_id: str, *, render_mode: str | None = None, **settings: Any
    ) -> None:
        if settings.get("on_lost") == "truncate":
            raise ValueError(
                'on_lost="truncate" ends the episode of one agent; use "raise" or "replay" here'
            )
        env_id = re.sub(r"_v(\d+)$", r"-v\1", env_id)
        remote = _Remote(target, env_id, render_mode=render_mode, library=self._library, **settings)
        self._remote = remote
        self.metadata: dict[str, Any] = remote.metadata
        self.render_mode = remote.render_mode
        self.observation_spaces: dict[Any, Any] = dict(remote.observation_space.spaces)
        self.action_spaces: dict[Any, Any] = dict(remote.action_space.spaces)
        self.possible_agents = list(self.observation_spaces)

    def __getattr__(self, name: str) -> Any:
        """Reads an attribute that the proxy does not have from the environment."""
        if is_own(name):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self._remote.get_wrapper_attr(name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute that the proxy does not have on the environment, as `RemoteEnv` does."""
        if "possible_agents" in vars(self) and not defines(self, name):
            if self._remote.set_wrapper_attr(name, value, force=False):
                return
            warn_of_own(self, name)
        super().__setattr__(name, value)

    def observation_space(self, agent: Any) -> Any:
        """Returns the observation space of an agent: the same object every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: Any) -> Any:
        """Returns the action space of an agent: the same object every time."""
        return self.action_spaces[agent]

    def render(self) -> Any:
        """Returns a frame of the current state."""
        return self._remote.render()

    def state(self) -> Any:
        """Returns the global state of the environment, if it has one."""
        return self._remote.call("state")

    def close(self) -> None:
        """Closes the environment on the server and the connection to it. Closing twice is harmless."""
        self._remote.close()


class ParallelEnv(RemoteAgents, _ParallelBase):
    """A remote environment in which all agents act at once; for its arguments see `RemoteAgents`."""

    _library = "pettingzoo.parallel"

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Starts an episode; returns observations and infos by agent."""
        observations, rest = self._remote.reset(seed=seed, options=options)
        vars(self)["agents"] = rest["agents"]
        return observations, rest["infos"]

    def step(
        self, actions: dict[Any, Any]
    ) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, bool], dict[Any, bool], dict[Any, Any]]:
        """Takes a step; returns observations, rewards, terminations, truncations and infos by agent."""
        result: tuple[Any, ...] = self._remote.step(actions)
        observations, rewards, terminations, truncations, rest = result
        vars(self)["agents"] = rest["agents"]
        return observations, rewards, terminations, truncations, rest["infos"]


class AECEnv(RemoteAgents, _AECBase):
    """A remote environment in which agents take turns; for its arguments see `RemoteAgents`."""

    _library = "pettingzoo.aec"
    agent_selection: Any
    rewards: dict[Any, Any]
    terminations: dict[Any, bool]
    truncations: dict[Any, bool]
    infos: dict[Any, dict[str, Any]]
    _observation: Any = None
    _cumulative_rewards: Any = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts an episode."""
        self._take(*self._remote.reset(seed=seed, options=options))

    def step(self, action: Any) -> None:
        """Takes the turn of the selected agent; the action of a dead agent is None."""
        result: tuple[Any, ...] = self._remote.step(action)
        observation, rewards, terminations, truncations, state = result
        flags = {"rewards": rewards, "terminations": terminations, "truncations": truncations}
        self._take(observation, state | flags)

    def observe(self, agent: Any) -> Any:
        """Returns the current observation of an agent."""
        if self._observation is None or agent != self.agent_selection:
            return self._remote.call("observe", agent)
        # The last answer included it. It is returned only once, so that each call returns its own object.
        observation, self._observation = self._observation, None
        return observation

    def _take(self, observation: Any, state: dict[str, Any]) -> None:
        self._observation = observation
        self._cumulative_rewards = state["cumulative_rewards"]
        vars(self).update((name, state[name]) for name in _STATE)


__all__ = ["AECEnv", "ParallelEnv"]
