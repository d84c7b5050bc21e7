"""PettingZoo as two libraries: `pettingzoo.parallel` and `pettingzoo.aec`.

PettingZoo has one registry of parallel environments and one of turn-based (AEC) ones, with the same ids in both; each
registry is therefore a library of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envwire.codec import Family, FaultError, Reason, gymnasium_family
from envwire.server._hosting.library import PETTINGZOO_PREFIX, Library, wrapper_of
from envwire.server._hosting.multi_agent import HOSTS

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
