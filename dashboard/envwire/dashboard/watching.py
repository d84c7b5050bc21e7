"""Watches servers, and the servers of farms, while the page is served."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from envwire.admin.v1 import admin_pb2
from envwire.codec.messages import state_name
from envwire.dashboard.channels import CallError, Channels
from envwire.dashboard.model import Fleet, Server
from envwire.farm.v1 import farm_pb2
from envwire.observe.v1 import observe_pb2

_AGAIN_SECONDS: Final = 2.0
#: Statuses of a `CallError`.
_NOT_OFFERED, _NO_SUCH_SESSION = 501, 404
#: Largest number of servers to watch; a larger farm is shown in part.
MAX_SERVERS: Final = 1000


class Watcher:
    """Keeps a fleet up to date.

    Args:
        targets: Servers and gateways, HOST:PORT.
        channels: Channels to them.

    Attributes:
        fleet: The watched servers and what they reported.
    """

    def __init__(self, targets: list[str], channels: Channels) -> None:
        self._targets = targets
        self._channels = channels
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._farms: dict[str, farm_pb2.ListServersResponse] = {}
        self.fleet = Fleet()

    @property
    def waiting(self) -> int:
        """Number of Makes that wait at the gateways, each of which has its own queue."""
        return sum(farm.waiting for farm in self._farms.values())

    async def run(self) -> None:
        """Watches until it is cancelled."""
        try:
            await asyncio.gather(*map(self._follow, self._targets))
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            await self._channels.close()

    async def _follow(self, target: str) -> None:
        """Watches a target: if it is a gateway, the servers that it lists, else the server itself."""
        while True:
            try:
                request = farm_pb2.ListServersRequest()
                farm = await self._channels.ask(target, "farm", "ListServers", request)
            except CallError as error:
                if error.status == _NOT_OFFERED:
                    await self._watch_forever(target)
                self.fleet.server(target).error = str(error)
            else:
                if target not in {server.address for server in farm.servers}:
                    self.fleet.servers.pop(target, None)
                self.take_farm(target, farm)
            await asyncio.sleep(_AGAIN_SECONDS)

    def take_farm(self, gateway: str, farm: farm_pb2.ListServersResponse) -> None:
        """Watches the servers that a gateway lists, and stops watching those that no gateway lists any more.

        A server that is a target itself is watched as one, and stays. A gateway may list a server at its own address.
        """
        self._farms[gateway] = farm
        watched = set(self._targets) - self._farms.keys()
        listed = {
            server.address: server
            for each in self._farms.values()
            for server in each.servers[:MAX_SERVERS]
        }
        for address, status in listed.items():
            state = farm_pb2.ServerStatus.State.Name(status.state)
            self.fleet.server(address).farm_state = state_name(state)
            if address not in self._tasks and address not in watched:
                self._tasks[address] = asyncio.ensure_future(self._watch_forever(address))
        for address in self.fleet.servers.keys() - listed.keys():
            if task := self._tasks.pop(address, None):
                task.cancel()
                del self.fleet.servers[address]
            else:  # a target
                self.fleet.servers[address].farm_state = ""

    async def _watch_forever(self, address: str) -> None:
        server = self.fleet.server(address)
        try:
            while True:
                try:
                    await self._watch(server)
                    server.error = "it ended the stream of its status"
                except CallError as error:
                    server.error = str(error)
                await asyncio.sleep(_AGAIN_SECONDS)
        finally:  # the server has left its farm, or the page is no longer served
            await self._channels.forget(address)

    async def _watch(self, server: Server) -> None:
        """Watches a server until it ends the stream.

        Raises:
            CallError: The server refused a call or does not answer.
        """
        server.admin = await self._is_admin(server.address)
        request = observe_pb2.WatchRequest()
        parts = self._channels.listen(server.address, "observe", "Watch", request)
        async with contextlib.aclosing(parts):
            async for part in parts:
                server.take(part)

    async def _is_admin(self, address: str) -> bool:
        """Whether the page may end sessions there: EndSession without an id answers NOT_FOUND only to an admin."""
        try:
            await self._channels.ask(address, "admin", "EndSession", admin_pb2.EndSessionRequest())
        except CallError as error:
            return error.status == _NO_SUCH_SESSION
        return True
