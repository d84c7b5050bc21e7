"""A library of environments: its registry and its `make`; and the error for an id that none has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, ClassVar

from envwire.codec import Family, FaultError, Reason
from envwire.server._grammar import did_you_mean

#: Prefix of patterns for PettingZoo's environments; the library is imported only for those.
PETTINGZOO_PREFIX = "pettingzoo/"


@dataclass(frozen=True)
class Library:
    """One environment library.

    Attributes:
        family: Its classes of environments, spaces and errors.
        module: The module with `make` and `registry`.
        version: Its version.
        prefix: What an operator's patterns for its ids begin with.
    """

    family: Family
    module: ModuleType
    version: str
    prefix: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """The library's name on the wire: "envwire" or "gymnasium"."""
        return self.family.name

    def specs(self) -> Mapping[str, Any]:
        """Returns the registered specifications by id."""
        registry: Mapping[str, Any] = self.module.registry
        return registry

    def make(self, env_id: str, /, **kwargs: Any) -> Any:
        """Makes an environment with the library's own `make`.

        Raises:
            FaultError: INVALID_VALUE: the environment cannot get an argument of this name.
        """
        check_free("make", {"id"}, kwargs)
        return self.module.make(env_id, **kwargs)

    def make_vec(self, env_id: str, /, **kwargs: Any) -> Any:
        """Makes a vector environment with the library's own `make_vec`."""
        return self.module.make_vec(env_id, **kwargs)

    def make_members(self, makers: Sequence[Callable[[], Any]], /, **kwargs: Any) -> Any:
        """Makes a vector environment of members that differ, with the library's own `SyncVectorEnv`."""
        return self.module.vector.SyncVectorEnv(makers, **kwargs)

    def matching(self, pattern: str) -> dict[str, Any]:
        """Returns the specifications whose ids match an operator's pattern."""
        if not pattern.startswith(self.prefix):
            return {}
        own = pattern.removeprefix(self.prefix)
        return {env_id: spec for env_id, spec in self.specs().items() if fnmatchcase(env_id, own)}

    def wrapper(self, name: str) -> type | None:
        """Returns the library's own wrapper class of that name, or None."""
        return wrapper_of(self.module.wrappers, name, self.family.Wrapper)

    def wrapper_names(self) -> list[str]:
        """Returns the names of the library's own wrappers, for advice."""
        return [name for name in dir(self.module.wrappers) if name[0].isupper()]

    def hosted(self, env: Any) -> Any:
        """Returns `env`, with its wrappers, in the form that a session drives."""
        return env


def wrapper_of(module: Any, name: str, base: type) -> type | None:
    """Returns the class of that name in a module, if it is a subclass of the base class of wrappers."""
    found = getattr(module, name, None)
    return found if isinstance(found, type) and issubclass(found, base) else None


def check_free(maker: str, own: Collection[str], kwargs: Mapping[str, Any]) -> None:
    """Refuses keyword arguments of environments that are some of `make` or `make_vec` itself.

    Raises:
        FaultError: INVALID_VALUE.
    """
    if taken := sorted(kwargs.keys() & set(own)):
        raise FaultError(
            Reason.INVALID_VALUE,
            f"{', '.join(taken)} among the keyword arguments of environments: {maker} takes that itself, and no "
            "environment gets it; rename the environment's parameter, or register the id with that argument. "
            "RemoteVectorEnv has num_envs=, vectorization_mode=, autoreset_mode= and wrappers=",
        )


#: What to install and import for ids with each prefix.
PACKAGES = {
    "ALE/": ("ale-py", "ale_py"),
    "MiniGrid-": ("minigrid", "minigrid"),
    "BabyAI-": ("minigrid", "minigrid"),
    "highway-": ("highway-env", "highway_env"),
    "Fetch": ("gymnasium-robotics", "gymnasium_robotics"),
    "MO-": ("mo-gymnasium", "mo_gymnasium"),
}
_GYMNASIUM = (
    ". Gymnasium, which has many more, is not installed here: pip install 'envwire[gymnasium]'"
)


def unmatched(pattern: str, libraries: Sequence[Library]) -> LookupError:
    """Returns the error for a pattern, with similar ids and the packages that may be missing."""
    known = sorted({env_id for library in libraries for env_id in library.specs()})
    names = [library.name for library in libraries]
    if not (advice := _package(pattern, known)):
        gymnasium = "" if "gymnasium" in names else _GYMNASIUM
        otherwise = f"register it in a module, and name that module with --import{gymnasium}"
        advice = did_you_mean(pattern, known, otherwise)
    return LookupError(f"no environment matches {pattern!r} in {', '.join(names)}; {advice}")


def _package(pattern: str, known: Sequence[str]) -> str:
    for prefix, (package, module) in PACKAGES.items():
        if pattern.startswith(prefix) and not any(each.startswith(prefix) for each in known):
            return f"these come with {package}: pip install {package}, and serve with --import {module}"
    return ""
