"""A running gateway: starting a farm waits until its servers are registered."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
from pathlib import Path

import pytest

from envwire.client import Credentials
from envwire.client._transports.grpc.gateway import is_server_dead
from envwire.farm.gateway import gateway as module
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.gateway import gateway
from envwire.farm.gateway.registry import states
from envwire.farm.v1 import farm_pb2
from envwire.v1 import environment_pb2

HELLO = farm_pb2.ServerHello(
    server_id="one",
    address="127.0.0.1:1",
    info=environment_pb2.GetServerInfoResponse(incarnation="run"),
)


async def waits_for_one() -> None:
    async with gateway(GatewayConfig(port=0)) as running:
        waiting = asyncio.ensure_future(running.registered(1))
        done, _ = await asyncio.wait({waiting}, timeout=0.2)
        assert not done
        running.registry.register(HELLO, HELLO.address, time.monotonic())
        await asyncio.wait_for(waiting, 60.0)


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


def test_a_certificate_that_cannot_be_read_is_reported_at_the_start(tmp_path: Path) -> None:
    async def run() -> None:
        async with gateway(GatewayConfig(port=0, server_ca=str(tmp_path / "absent.pem"))):
            pass

    with pytest.raises(FileNotFoundError, match=r"absent\.pem"):
        asyncio.run(run())


def test_the_garbage_collector_looks_at_all_objects_rarely_while_a_gateway_runs() -> None:
    async def run() -> tuple[int, ...]:
        async with gateway(GatewayConfig(port=0)):
            return gc.get_threshold()

    before = gc.get_threshold()
    assert all(during >= usual for during, usual in zip(asyncio.run(run()), before, strict=True))
    assert gc.get_threshold() == before


async def asks_twice(address: str) -> list[bool]:
    async with gateway(GatewayConfig(port=0)) as running:
        member = running.registry.register(HELLO, address, time.monotonic())
        while not member.unanswered:
            await asyncio.sleep(0.05)
        asked = (running.target, Credentials(), "session-run")
        return [
            await asyncio.to_thread(is_server_dead, *asked, silent=each) for each in (False, True)
        ]


def test_a_client_says_that_a_server_is_silent_to_it_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(states, "SUSPECT_SECONDS", 0.0)
    monkeypatch.setattr(states, "AGREED_DEAD_SECONDS", 0.0)
    monkeypatch.setattr(states, "DEAD_SECONDS", 1000.0)
    with socket.create_server(("127.0.0.1", 0)) as hole:
        address = f"127.0.0.1:{hole.getsockname()[1]}"
        assert asyncio.run(asyncio.wait_for(asks_twice(address), 60.0)) == [False, True]
