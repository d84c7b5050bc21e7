"""Groups of environments with their own fork servers, interpreters, variables, limits and processes.

The groups of a server start together; each id belongs to one of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from itertools import combinations

from envwire.server._auth.allow_list import AllowList
from envwire.server._processes.forkserver import Adopted, ForkserverLink
from envwire.server._processes.forkserver_start import ForkserverError, Loaded
from envwire.server._processes.placement import Placement
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2

_log = logging.getLogger("envwire.server")


class Group:
    """One group.

    Args:
        name: Its name; "" for the environments outside named groups.
        config: Its settings.
        adopted: Adopts the sessions of a fork server that is gone.

    Attributes:
        forkserver: Forks its processes.
        placement: Finds processes for its sessions.
        allow_list: What clients may ask for.
        loaded: The environments that it makes.
    """

    def __init__(self, name: str, config: ServerConfig, adopted: Adopted) -> None:
        self.name = name
        self.config = config
        self.forkserver = ForkserverLink(config, adopted, name)
        self.placement = Placement(config, self.forkserver.fork)
        self.allow_list = AllowList.of(config)
        self.loaded = Loaded()

    async def start(self) -> None:
        """Loads the environments.

        Raises:
            ForkserverError: An id is unknown, a module cannot be imported, or the interpreter is unsuitable.
        """
        try:
            self.loaded = await self.forkserver.start()
        except ForkserverError as error:
            if not self.name:
                raise
            raise ForkserverError(f"groups.{self.name}: {error}") from error
        for library in self.loaded.libraries:
            library.group = self.name
        for listing in self.loaded.environments.environments:
            listing.group = self.name


class Groups:
    """The groups of one server: those of its settings, and the unnamed one of all other environments.

    Args:
        config: The server's settings.

    Attributes:
        loaded: The environments of all groups, once started.

    Raises:
        ValueError: A rule for keyword arguments is invalid.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._adopted = Adopted()
        self._groups = {
            name: Group(name, each, self._adopted) for name, each in config.by_group().items()
        }
        self.loaded = Loaded()

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def __getitem__(self, name: str) -> Group:
        return self._groups[name]

    @property
    def limits(self) -> dict[str, int]:
        """Largest number of sessions per group; the server's own limit applies to environments outside groups."""
        return {group.name: group.config.max_sessions for group in self if group.name}

    @property
    def packages(self) -> list[str]:
        """Packages in interpreters other than the server's own, each as GROUP:NAME==VERSION."""
        return [
            f"{group.name}:{package}"
            for group in self
            for package in group.forkserver.interpreter.packages
        ]

    def of(self, env_id: str) -> Group:
        """Returns the group that makes an environment.

        Raises:
            KeyError: No group makes it.
        """
        for group in self:
            if env_id in group.loaded.ids:
                return group
        raise KeyError(env_id)

    async def start(self) -> None:
        """Starts the fork servers and waits until they have imported everything.

        Raises:
            ForkserverError: An id is unknown or in two groups, a module cannot be imported, or an interpreter is
                unsuitable.
        """
        starting = [asyncio.ensure_future(group.start()) for group in self]
        try:
            await asyncio.gather(*starting)
        finally:  # `stop` must not run while one is still starting
            for task in starting:
                task.cancel()
            await asyncio.wait(starting)
        for text in {group.loaded.not_held for group in self} - {""}:
            _log.warning("%s. See docs/security.md", text)
        _check_apart(self)
        self.loaded = _together([group.loaded for group in self])

    async def stop(self) -> None:
        """Ends the fork servers and all remaining sessions."""
        await asyncio.gather(*(group.forkserver.stop() for group in self))
        self._adopted.stop()


def _check_apart(groups: Iterable[Group]) -> None:
    for one, other in combinations(groups, 2):
        for env_id in sorted(one.loaded.ids & other.loaded.ids)[:1]:
            first, second = (
                f"groups.{each.name}" if each.name else "environments" for each in (one, other)
            )
            raise ForkserverError(
                f"{env_id} is in {first} and in {second}; name it in one of them, so that clients know which they get"
            )


def _together(loaded: list[Loaded]) -> Loaded:
    """Merges what all groups make; a single group's own object is returned, since it changes with reloads."""
    if len(loaded) == 1:
        return loaded[0]
    listings = [listing for each in loaded for listing in each.environments.environments]
    listings.sort(key=lambda listing: (listing.library, listing.spec.id))
    return Loaded(
        environment_pb2.ListEnvironmentsResponse(environments=listings),
        [library for each in loaded for library in each.libraries],
        [file for each in loaded for file in each.files],
    )
