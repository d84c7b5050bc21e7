"""A group of environments with its own fork server: interpreter, variables, limits and processes."""

from __future__ import annotations

from envwire.server._auth.allow_list import AllowList
from envwire.server._processes.adopted import Adopted
from envwire.server._processes.forkserver import ForkserverLink
from envwire.server._processes.forkserver_start import ForkserverError, Loaded
from envwire.server._processes.placement import Placement
from envwire.server.config import ServerConfig


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
