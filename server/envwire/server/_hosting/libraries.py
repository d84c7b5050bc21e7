"""The catalogue: the installed libraries, and their environments and wrappers that clients may name.

Environment code is imported only here, which runs in the fork server and in session processes, never in the front.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, ClassVar

from envwire import envs
from envwire.codec import (
    Family,
    FaultError,
    Reason,
    encode_env_spec,
    envwire_family,
    gymnasium_family,
)
from envwire.envs.specs import EnvSpec
from envwire.server._auth.attribute_access import EVERYTHING, AttributeAccess
from envwire.server._grammar import did_you_mean
from envwire.server._hosting.imports import import_named
from envwire.server._ipc.refusals import unknown_environment
from envwire.server._version import VERSION
from envwire.v1 import environment_pb2

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


#: Ids of the conformance suite's environments, registered only if the operator names them.
_CONFORMANCE_PREFIX = "Conformance/"


def load_libraries(patterns: Iterable[str]) -> list[Library]:
    """Returns the installed libraries in the order in which ids are looked up.

    Raises:
        ImportError: A pattern names PettingZoo, which is not installed.
    """
    libraries = [Library(envwire_family(), envs, VERSION)]
    if any(pattern.startswith(_CONFORMANCE_PREFIX) for pattern in patterns):
        importlib.import_module("envwire.envs.envs.conformance")
    with contextlib.suppress(ModuleNotFoundError):
        gymnasium = importlib.import_module("gymnasium")
        libraries.append(Library(gymnasium_family(), gymnasium, gymnasium.__version__))
    if any(pattern.startswith(PETTINGZOO_PREFIX) for pattern in patterns):
        from envwire.server._hosting.pettingzoo import load_pettingzoo

        libraries += load_pettingzoo()
    return libraries


@dataclass(frozen=True)
class Listing:
    """One environment that the server offers."""

    library: Library
    spec: Any


@dataclass
class Catalogue:
    """The environments and wrappers that this server offers, by name.

    The catalogue is fixed at the start: names from clients are looked up here, never imported.
    """

    libraries: Sequence[Library]
    listings: dict[tuple[str, str], Listing] = field(default_factory=dict[tuple[str, str], Listing])
    wrappers: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    attribute_access: AttributeAccess = EVERYTHING

    def find(self, env_id: str, library: str = "", prefer: str = "") -> Listing:
        """Returns the listing of `env_id`.

        Args:
            env_id: The id.
            library: The library to look in; empty for any.
            prefer: The library to look in first; the others follow in their own order.

        Raises:
            FaultError: UNKNOWN_ENVIRONMENT.
        """
        names = [library] if library else [prefer, *(known.name for known in self.libraries)]
        for name in names:
            if listing := self.listings.get((name, env_id)):
                return listing
        raise unknown_environment(env_id, self.listings, library)

    def wrapper(self, name: str, library: Library) -> Callable[..., Any]:
        """Returns the wrapper class that a client named.

        Raises:
            FaultError: WRAPPER_NOT_ALLOWED when the library has no wrapper of that name.
        """
        if name in self.wrappers:
            return self.wrappers[name]
        if name.isidentifier() and (found := library.wrapper(name)) is not None:
            return found
        otherwise = (
            f"name one of {library.name}'s wrappers, or a 'module:Class' that the operator listed "
            "with --allow-wrapper"
        )
        hint = did_you_mean(name, [*library.wrapper_names(), *self.wrappers], otherwise)
        raise FaultError(
            Reason.WRAPPER_NOT_ALLOWED, f"{library.name} has no wrapper {name!r}; {hint}"
        )


def load_catalogue(
    patterns: Iterable[str],
    *,
    imports: Iterable[str],
    wrappers: Iterable[str],
    attribute_access: AttributeAccess = EVERYTHING,
    imported: Callable[[str], None] = lambda _: None,
) -> Catalogue:
    """Imports what the operator named, and lists the environments whose ids match.

    Args:
        patterns: Ids or shell patterns, "CartPole-v1", "ALE/*", "pettingzoo/classic/*".
        imports: Modules, or files ending in .py, that register environments when imported.
        wrappers: Additional wrappers: "module:Class", or the name of a reserved one.
        attribute_access: Which of the environments' attributes and methods clients may reach.
        imported: Called with the name of each module after its import.

    Raises:
        LookupError: A pattern matches no registered id.
        ImportError: A module or wrapper could not be imported; BrokenModuleError says where.
    """
    patterns = tuple(patterns)
    libraries = load_libraries(patterns)
    imported("gymnasium")  # and the plugins that it loads
    for name in imports:
        import_named(name)
        imported(name)
    catalogue = Catalogue(libraries, attribute_access=attribute_access)
    for pattern in patterns:
        _list_matching(catalogue, pattern)
    for name in wrappers:
        if ":" in name:
            module, _, attribute = name.partition(":")
            catalogue.wrappers[name] = getattr(importlib.import_module(module), attribute)
            imported(module)
    return catalogue


def program_catalogue(ids: Iterable[str], attribute_access: AttributeAccess) -> Catalogue:
    """Returns the catalogue of a program, which alone knows its environments.

    Args:
        ids: The ids that clients may name.
        attribute_access: Which of the environments' attributes and methods clients may reach.
    """
    library = Library(envwire_family(), envs, VERSION)
    listings = {(library.name, each): Listing(library, EnvSpec(each)) for each in ids}
    return Catalogue([library], listings, attribute_access=attribute_access)


def _list_matching(catalogue: Catalogue, pattern: str) -> None:
    found = {
        (library.name, env_id): Listing(library, spec)
        for library in catalogue.libraries
        for env_id, spec in library.matching(pattern).items()
    }
    if not found:
        raise unmatched(pattern, catalogue.libraries)
    catalogue.listings.update(found)


def list_environments(catalogue: Catalogue) -> environment_pb2.ListEnvironmentsResponse:
    """Returns the catalogue as a message for clients."""
    response = environment_pb2.ListEnvironmentsResponse()
    for _, listing in sorted(catalogue.listings.items()):
        entry = response.environments.add(library=listing.library.name)
        encode_env_spec(listing.spec, entry.spec)
    return response


def preload(catalogue: Catalogue, imported: Callable[[str], None]) -> None:
    """Imports the modules of the listed environments, so that forked sessions start quickly.

    A module that cannot be imported is skipped; a client that makes its environment gets the error.

    Args:
        catalogue: The environments.
        imported: Called with the name of each module after its import.
    """
    points = (listing.spec.entry_point for listing in catalogue.listings.values())
    modules = (point.partition(":")[0] for point in points if isinstance(point, str))
    for module in dict.fromkeys(modules):
        with contextlib.suppress(Exception):  # a third-party module may raise anything
            importlib.import_module(module)
        imported(module)
