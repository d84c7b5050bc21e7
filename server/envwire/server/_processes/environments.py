"""The environments of one server: their fork server, their processes, and what clients may ask for."""

from __future__ import annotations

import logging

from envwire.server._auth.allow_list import AllowList
from envwire.server._processes.forkserver import ForkserverLink
from envwire.server._processes.forkserver_start import Loaded
from envwire.server._processes.placement import Placement
from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")


class Environments:
    """What a server makes environments with.

    Args:
        config: The server's settings.

    Attributes:
        forkserver: Forks their processes.
        placement: Finds processes for sessions.
        allow_list: What clients may ask for.
        loaded: The environments that can be made, once started.

    Raises:
        ValueError: A rule for keyword arguments is invalid.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.forkserver = ForkserverLink(config)
        self.placement = Placement(config, self.forkserver.fork)
        self.allow_list = AllowList.of(config)
        self.loaded = Loaded()

    async def start(self) -> None:
        """Starts the fork server and waits until it has imported everything.

        Raises:
            ForkserverError: An id is unknown, a module cannot be imported, or the interpreter is unsuitable.
        """
        self.loaded = await self.forkserver.start()
        if self.loaded.not_held:
            _log.warning("%s. See docs/security.md", self.loaded.not_held)

    async def stop(self) -> None:
        """Ends the fork server and all remaining sessions."""
        await self.forkserver.stop()
