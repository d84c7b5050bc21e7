"""A gateway that runs: who starts a farm waits until its servers are registered."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest

from envwire.farm.gateway import gateway as module
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.gateway import gateway
from envwire.farm.v1 import farm_pb2

HELLO = farm_pb2.ServerHello(server_id="one", address="127.0.0.1:1")


async def waits_for_one() -> None:
    async with gateway(GatewayConfig(port=0)) as running:
        waiting = asyncio.ensure_future(running.registered(1))
        done, _ = await asyncio.wait({waiting}, timeout=0.2)
        assert not done
        running.registry.register(HELLO, HELLO.address, time.monotonic())
        await asyncio.wait_for(waiting, 10.0)


async def gives_up() -> None:
    async with gateway(GatewayConfig(port=0)) as running:
        running.registry.register(HELLO, HELLO.address, time.monotonic())
        await running.registered(2)


def test_a_farm_is_ready_when_its_servers_are_registered() -> None:
    asyncio.run(waits_for_one())


def test_servers_that_do_not_register_are_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_REGISTER_SECONDS", 0.1)
    with pytest.raises(OSError, match="1 of 2 servers registered with the gateway"):
        asyncio.run(gives_up())


def test_the_garbage_collector_looks_at_all_objects_rarely_while_a_gateway_runs() -> None:
    async def run() -> tuple[int, ...]:
        async with gateway(GatewayConfig(port=0)):
            return gc.get_threshold()

    before = gc.get_threshold()
    assert all(during >= usual for during, usual in zip(asyncio.run(run()), before, strict=True))
    assert gc.get_threshold() == before
