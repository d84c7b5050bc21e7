"""Several gateways are watched at once, and servers for as long as a gateway lists them."""

from __future__ import annotations

import asyncio
from typing import Any

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


class SilentChannels(Channels):
    """Channels to servers that never answer; they note which ones are closed."""

    def __init__(self) -> None:
        super().__init__(Credentials(token=None))
        self.asked = asyncio.Event()
        self.closed: list[str] = []

    async def ask(self, target: str, *_: Any) -> Any:
        del target
        self.asked.set()
        await asyncio.Event().wait()

    async def forget(self, target: str) -> None:
        self.closed.append(target)


def test_the_channel_to_a_server_that_left_its_farm_is_closed() -> None:
    async def watched() -> None:
        channels = SilentChannels()
        watcher = Watcher([], channels)
        watcher.take_farm("one:1", farm(0, "a:1"))
        await channels.asked.wait()
        assert channels.closed == []
        watcher.take_farm("one:1", farm(0))
        while not channels.closed:
            await asyncio.sleep(0)
        assert channels.closed == ["a:1"]

    asyncio.run(asyncio.wait_for(watched(), 10.0))


def test_a_server_at_its_gateways_address_is_watched() -> None:
    async def watched() -> None:
        channels = SilentChannels()
        Watcher(["one:1"], channels).take_farm("one:1", farm(0, "one:1"))
        await channels.asked.wait()

    asyncio.run(asyncio.wait_for(watched(), 10.0))


def test_a_server_that_was_named_is_watched_once_and_stays_when_it_leaves_its_farm() -> None:
    async def watched() -> None:
        channels = SilentChannels()
        watcher = Watcher(["one:1", "a:1"], channels)
        dead = farm(0, "a:1")
        dead.servers[0].state = farm_pb2.ServerStatus.STATE_DEAD
        watcher.take_farm("one:1", dead)
        assert watcher.fleet.servers["a:1"].state == "dead"
        await asyncio.sleep(0)
        assert not channels.asked.is_set(), "it is watched as a target, which nobody follows here"
        watcher.take_farm("one:1", farm(0))
        assert watcher.fleet.servers["a:1"].state == "unreachable"

    asyncio.run(asyncio.wait_for(watched(), 10.0))
