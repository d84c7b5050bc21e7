"""Several gateways are watched at once."""

from __future__ import annotations

import asyncio

from envwire.client import Credentials
from envwire.dashboard.channels import Channels
from envwire.dashboard.watching import Watcher
from envwire.farm.v1 import farm_pb2


def farm(waiting: int, *addresses: str) -> farm_pb2.ListServersResponse:
    servers = [farm_pb2.ServerStatus(address=address) for address in addresses]
    return farm_pb2.ListServersResponse(servers=servers, waiting=waiting)


def test_the_makes_that_wait_at_all_gateways_are_summed_and_all_servers_watched() -> None:
    async def watched() -> None:
        watcher = Watcher(["one:1", "two:2"], Channels(Credentials(token=None)))
        running = asyncio.ensure_future(watcher.run())
        watcher.take_farm("one:1", farm(3, "a:1", "b:1"))
        watcher.take_farm("two:2", farm(4, "b:1", "c:1"))
        assert watcher.waiting == 7
        assert {"a:1", "b:1", "c:1"} <= set(watcher.fleet.servers)
        watcher.take_farm("one:1", farm(0, "b:1"))
        assert watcher.waiting == 4
        assert "a:1" not in watcher.fleet.servers
        assert {"b:1", "c:1"} <= set(watcher.fleet.servers)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(asyncio.wait_for(watched(), 60.0))
