"""A farm on this machine: a gateway in this process, and server processes that are restarted when they end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

from envwire.farm.engines.running import run_farm
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.gateway import gateway
from envwire.server._auth.scopes import Scope, ServerPatterns
from envwire.server._auth.tokens import new_token, read_tokens
from envwire.server._front.event_loop import raise_file_limit
from envwire.server._ipc.child_program import ChildProgram
from envwire.server._settings.listening import local_target
from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.farm")

_START_SECONDS = 120.0
_RESTART_SECONDS = 1.0
#: Seconds that a server has to stop, beyond the drain time of its sessions.
_STOP_SECONDS = 10.0


class LocalServer:
    """One server of the farm.

    Args:
        config: Its settings. A restart uses the same port, so that the server takes its own place in the farm again
            and the gateway knows that its old sessions are gone.
        token: Token to join the gateway with; empty for none.
    """

    def __init__(self, config: ServerConfig, token: str) -> None:
        self._config = config
        self._token = token
        self._process: ChildProgram | None = None

    async def start(self, seconds: float | None = None) -> None:
        """Starts the server and waits until it serves.

        Args:
            seconds: Longest start; None for two minutes.

        Raises:
            OSError: The server did not start; the message says why.
        """
        process = self._process = ChildProgram("envwire.server._server_process")
        settings = f"{self._config.to_json()}\t{self._token}"
        try:
            target = await process.start("a server", settings, seconds or _START_SECONDS)
        except OSError:
            await process.stop(0.0)
            raise
        self._config = replace(self._config, port=int(target.rpartition(":")[2]))

    async def keep(self) -> None:
        """Restarts the server whenever it ends."""
        while True:
            if self._process is not None:
                status = await self.ended()
                _log.warning("the server at port %d ended (%d)", self._config.port, status)
            await asyncio.sleep(_RESTART_SECONDS)
            try:
                await self.start()
            except OSError as error:
                _log.warning("%s", error)

    async def ended(self) -> int:
        """Waits until the server ends; returns its exit status, negative for a signal."""
        return await self._process.wait() if self._process is not None else 0

    def terminate(self) -> None:
        """Tells the server to stop; its sessions get the drain time to end."""
        if self._process is not None:
            self._process.terminate()

    async def stop(self) -> None:
        """Stops the server, and waits until it has ended."""
        if self._process is not None:
            self.terminate()
            await self._process.stop(self._config.drain_timeout + _STOP_SECONDS)


@contextlib.asynccontextmanager
async def _farm(count: int, config: ServerConfig, at: GatewayConfig) -> AsyncGenerator[str]:
    here = ServerPatterns(addresses=("127.0.0.1:*",))
    token, line = new_token("envwire-farm-up", [Scope.JOIN], here)
    async with gateway(at, known=read_tokens(line)) as running:
        config, shown = (
            replace(config, join=(local_target(running.target),)),
            token if at.tokens else "",
        )
        servers = [LocalServer(config, shown) for _ in range(count)]
        keepers: list[asyncio.Task[None]] = []
        try:
            await asyncio.gather(*(server.start() for server in servers))
            keepers = [asyncio.ensure_future(server.keep()) for server in servers]
            await running.registered(count)
            yield running.target
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            await asyncio.gather(*(server.stop() for server in servers))


def run(count: int, config: ServerConfig, at: GatewayConfig, ready: Callable[[str], None]) -> None:
    """Runs a farm until SIGTERM or SIGINT.

    Args:
        count: Number of servers.
        config: Settings of each server; ports are chosen freely.
        at: Settings of the gateway.
        ready: Called with HOST:PORT of the gateway once all servers are registered.

    Raises:
        OSError: A server does not start, or the gateway's address cannot be bound.
        ValueError: The settings are invalid or contradict each other.
    """
    raise_file_limit()
    run_farm(_farm(count, replace(config, port=0), at), ready)
