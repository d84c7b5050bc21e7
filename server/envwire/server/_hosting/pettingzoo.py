"""PettingZoo as two libraries, `pettingzoo.parallel` and `pettingzoo.aec`, whose environments a session can drive.

PettingZoo has one registry of parallel environments and one of turn-based (AEC) ones, with the same ids in both; each
registry is therefore a library of its own. Spaces, observations, rewards and flags are dictionaries by agent;
docs/pettingzoo.md lists the fields that carry them.
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from envwire.codec import Family, FaultError, Reason, fault_from_exception, gymnasium_family
from envwire.server._hosting.library import PETTINGZOO_PREFIX, Library, wrapper_of


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


_WRAPPERS = "pettingzoo.utils.wrappers"
_ADVICE = "install it with: pip install 'pettingzoo>=1.27'"


def load_pettingzoo() -> list[Library]:
    """Returns PettingZoo's two registries.

    Raises:
        ImportError: PettingZoo is not installed, or too old to have registries.
    """
    try:
        pettingzoo = importlib.import_module("pettingzoo")
    except ModuleNotFoundError as error:
        raise ImportError(f"PettingZoo's environments were asked for; {_ADVICE}") from error
    if not hasattr(pettingzoo, "parallel_registry"):
        raise ImportError(f"PettingZoo {pettingzoo.__version__} has no registry; {_ADVICE}")
    family, version = gymnasium_family(), str(pettingzoo.__version__)
    return [PettingZoo(family, pettingzoo, version, kind) for kind in HOSTS]


@dataclass(frozen=True)
class PettingZoo(Library):
    """One of PettingZoo's two registries.

    Attributes:
        kind: "parallel" or "aec", PettingZoo's words.
    """

    kind: str
    prefix = PETTINGZOO_PREFIX

    @property
    def name(self) -> str:
        """The library's name on the wire: "pettingzoo.parallel" or "pettingzoo.aec"."""
        return f"pettingzoo.{self.kind}"

    def specs(self) -> Mapping[str, Any]:
        """Returns the registered specifications by id, in Gymnasium's form."""
        registry: Mapping[str, Any] = getattr(self.module, f"{self.kind}_registry")
        return {env_id: _as_gymnasium(spec, self.family) for env_id, spec in registry.items()}

    def make(self, env_id: str, /, **kwargs: Any) -> Any:
        """Makes an environment with PettingZoo's own `make`."""
        return self.module.make(self.kind, env_id, **kwargs)

    def make_vec(self, env_id: str, /, **kwargs: Any) -> Any:
        """Raises an error, since PettingZoo has no vector environments.

        Raises:
            FaultError: Always, UNSUPPORTED.
        """
        del kwargs
        raise self._no_vectors(f", of {env_id} neither")

    def make_members(self, makers: Sequence[Callable[[], Any]], /, **kwargs: Any) -> Any:
        """Raises an error, as `make_vec` does.

        Raises:
            FaultError: Always, UNSUPPORTED.
        """
        del makers, kwargs
        raise self._no_vectors()

    def _no_vectors(self, more: str = "") -> FaultError:
        text = f"{self.name} has no vector environments{more}; make single ones"
        return FaultError(Reason.UNSUPPORTED, text)

    def wrapper(self, name: str) -> type | None:
        """Returns PettingZoo's wrapper of that name for environments of this kind, or None."""
        wrappers = importlib.import_module(_WRAPPERS)
        return wrapper_of(wrappers, name, getattr(wrappers, HOSTS[self.kind].wrapper_base))

    def wrapper_names(self) -> list[str]:
        """Returns the names of PettingZoo's wrappers for environments of this kind, for advice."""
        return [name for name in dir(importlib.import_module(_WRAPPERS)) if self.wrapper(name)]

    def hosted(self, env: Any) -> Any:
        """Returns `env` in the form that a session drives.

        Raises:
            FaultError: UNSUPPORTED: the environment does not name its possible agents.
        """
        return HOSTS[self.kind](env, self.family)


def _as_gymnasium(spec: Any, family: Family) -> Any:
    return family.EnvSpec(
        id=spec.id,
        entry_point=spec.entry_point,
        kwargs=dict(spec.kwargs),
        order_enforce=False,
        disable_env_checker=True,
    )
