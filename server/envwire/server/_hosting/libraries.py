"""The catalogue: environments and wrappers of the installed libraries that clients may name.

Environment code is imported only here, which runs in the fork server and in session processes, never in the front.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from envwire import envs
from envwire.codec import FaultError, Reason, encode_env_spec, envwire_family, gymnasium_family
from envwire.envs.specs import EnvSpec
from envwire.server._auth.attribute_access import EVERYTHING, AttributeAccess
from envwire.server._grammar import did_you_mean
from envwire.server._hosting.imports import import_named
from envwire.server._hosting.library import PETTINGZOO_PREFIX, Library, unmatched
from envwire.server._ipc.refusals import unknown_environment
from envwire.v1 import environment_pb2
from envwire.wire.encodings import LIBRARIES
from envwire.wire.version import VERSION

#: What `make` and `make_vec` of `envwire.envs` import when they are first called.
_IMPORTED_LATE = ("envwire.envs.wrappers.common", "envwire.envs.vector.sync_vector_env")
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


def preload(
    catalogue: Catalogue, imported: Callable[[str], None], compressing: bool = False
) -> None:
    """Imports what the listed environments need, so that forked sessions start quickly.

    A module that cannot be imported is skipped; a client that makes its environment gets the error.

    Args:
        catalogue: The environments.
        imported: Called with the name of each module after its import.
        compressing: Whether arrays may be compressed: that library takes longer than all else of a new channel.
    """
    points = (listing.spec.entry_point for listing in catalogue.listings.values())
    modules = (point.partition(":")[0] for point in points if isinstance(point, str))
    late = [*_IMPORTED_LATE, *(LIBRARIES if compressing else ())]
    for module in dict.fromkeys([*late, *modules]):
        with contextlib.suppress(Exception):  # a third-party module may raise anything
            importlib.import_module(module)
        imported(module)
