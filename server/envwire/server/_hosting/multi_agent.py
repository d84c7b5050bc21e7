"""Adapts multi-agent environments to the interface that a session drives.

Spaces, observations, rewards and flags are dictionaries by agent; docs/pettingzoo.md lists the fields that carry them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from envwire.codec import Family, FaultError, Reason, fault_from_exception


class Flags(dict[Any, Any]):
    """The terminations or truncations by agent; the truth value is the flag of the whole episode.

    Args:
        flags: The flags by agent.
        truth: Whether the episode has ended for all agents, in this way.
    """

    def __init__(self, flags: Mapping[Any, Any], truth: bool) -> None:
        super().__init__(flags)
        self._truth = truth

    def __bool__(self) -> bool:
        return self._truth


def flag_pair(
    terminations: Mapping[Any, Any], truncations: Mapping[Any, Any]
) -> tuple[Flags, Flags]:
    """Returns both maps of flags, one of which is true once no agent is left in the episode."""
    over = all(flag or truncations.get(agent) for agent, flag in terminations.items())
    truncated = over and any(truncations.values())
    terminated = over and (any(terminations.values()) or not truncated)
    return Flags(terminations, terminated), Flags(truncations, truncated)


class Host:
    """A multi-agent environment with the interface of an `Env`.

    Attributes:
        wrapper_base: Name of PettingZoo's base class for wrappers of this kind.
    """

    wrapper_base: str
    spec = None

    def __init__(self, env: Any, family: Family) -> None:
        self.env = env
        self.metadata = getattr(env, "metadata", None)
        self.render_mode = getattr(env, "render_mode", None)
        agents: Sequence[Any] | None = getattr(env, "possible_agents", None)
        if agents is None:
            raise FaultError(
                Reason.UNSUPPORTED,
                f"{env} names no possible_agents, and a proxy needs their spaces when it is made; set possible_agents",
            )
        space = family.spaces.Dict
        # Ordered, so that no version of Gymnasium sorts the agents.
        self.observation_space = space(OrderedDict((a, env.observation_space(a)) for a in agents))
        self.action_space = space(OrderedDict((a, env.action_space(a)) for a in agents))

    def __str__(self) -> str:
        return str(self.env)

    @property
    def unwrapped(self) -> Host:
        """This host itself, since PettingZoo's environments keep their generators under no standard name."""
        return self

    def render(self) -> Any:
        """Renders the current state."""
        return self.env.render()

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def has_wrapper_attr(self, name: str) -> bool:
        """Returns whether the environment has the attribute."""
        return hasattr(self.env, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute of the environment.

        Raises:
            AttributeError: The environment has no such attribute.
        """
        return getattr(self.env, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of the innermost environment; returns whether it was set."""
        if not force and not self.has_wrapper_attr(name):
            return False
        setattr(self.env.unwrapped, name, value)
        return True

    def _refuse(self, error: Exception, actions: Any) -> NoReturn:
        """Raises the fault of a failed step: INVALID_ACTION if an invalid action can explain the error."""
        reason = Reason.ENVIRONMENT_RAISED if self._fit(actions) else Reason.INVALID_ACTION
        raise fault_from_exception(error, reason) from error

    def _fit(self, actions: Any) -> bool:
        """Whether each action is in its agent's action space; None is valid for an agent that left the episode."""
        spaces: dict[Any, Any] = self.action_space.spaces
        try:
            return all(
                action is None or spaces[agent].contains(action)
                for agent, action in actions.items()
            )
        except Exception:
            # Not a dictionary by agent, an unknown agent, or a space that cannot check the value.
            return False


class ParallelHost(Host):
    """A parallel environment: all agents act in one step."""

    wrapper_base = "BaseParallelWrapper"

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Starts an episode; returns the agents' observations, and the other state that a proxy shows."""
        observations, infos = self.env.reset(**kwargs)
        return observations, self._rest(infos)

    def step(self, action: Any) -> tuple[Any, Any, Flags, Flags, dict[str, Any]]:
        """Takes a step with the actions of all live agents."""
        try:
            observations, rewards, terminations, truncations, infos = self.env.step(action)
        except Exception as error:
            self._refuse(error, action)
        flags = flag_pair(terminations, truncations)
        return (observations, rewards, *flags, self._rest(infos))

    def _rest(self, infos: Any) -> dict[str, Any]:
        return {"agents": list(self.env.agents), "infos": infos}


class AECHost(Host):
    """A turn-based environment, in which the selected agent acts.

    Every answer includes that agent's observation, so that a turn takes one request instead of two.
    """

    wrapper_base = "BaseWrapper"

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Starts an episode; returns the observation, and the other state that a proxy shows."""
        env = self.env
        env.reset(**kwargs)
        names = ("rewards", "terminations", "truncations")
        return self._observation(), self._rest() | {name: getattr(env, name) for name in names}

    def step(self, action: Any) -> tuple[Any, Any, Flags, Flags, dict[str, Any]]:
        """Takes a step with the selected agent's action."""
        env = self.env
        actor = getattr(env, "agent_selection", None)
        try:
            env.step(action)
        except Exception as error:
            self._refuse(error, {actor: action})
        flags = flag_pair(env.terminations, env.truncations)
        return (self._observation(), env.rewards, *flags, self._rest())

    def _observation(self) -> Any:
        """Returns the selected agent's observation; None without an agent, or if `observe` raises here."""
        if not self.env.agents:
            return None
        try:
            return self.env.observe(self.env.agent_selection)
        except Exception:  # raised again when the proxy's user calls `observe`
            return None

    def _rest(self) -> dict[str, Any]:
        env = self.env
        return {
            "agents": list(env.agents),
            "agent_selection": getattr(env, "agent_selection", None),
            "cumulative_rewards": env._cumulative_rewards,  # PettingZoo's `last` reads this attribute
            "infos": env.infos,
        }


#: Host class for each kind of environment.
HOSTS: dict[str, type[Host]] = {"parallel": ParallelHost, "aec": AECHost}
