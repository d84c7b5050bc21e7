"""Servers register with gateways: what they tell, and what the log says of a gateway that does not register them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import grpc.aio
import pytest

from envwire.farm.v1 import farm_pb2
from envwire.server._front.farm.joining import joined
from envwire.server._processes.forkserver_start import Loaded
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb

Register = Callable[[Any, "grpc.aio.ServicerContext[bytes, bytes]"], Awaitable[None]]


@asynccontextmanager
async def gateway(register: Register) -> AsyncIterator[str]:
    """Runs a gateway with this handler of registrations; yields its address."""
    handler: Any = grpc.stream_stream_rpc_method_handler(register)
    service = grpc.method_handlers_generic_handler(
        "envwire.farm.v1.FarmService", {"Register": handler}
    )
    running = grpc.aio.server()
    running.add_generic_rpc_handlers([service])
    port = running.add_insecure_port("127.0.0.1:0")
    await running.start()
    yield f"127.0.0.1:{port}"
    await running.stop(0.0)


def a_front(**more: Any) -> Any:
    control = SimpleNamespace(describe=pb.GetServerInfoResponse, loaded=Loaded())
    return SimpleNamespace(control_service=control, packages=[], **more)


def test_a_gateway_that_ends_registrations_is_not_said_to_be_silent_and_named_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An attempt that takes longer counts as a registration that worked for a while.
    monkeypatch.setattr("envwire.server._front.farm.joining._MAX_PAUSE", 60.0)
    hellos = list[farm_pb2.ServerHello]()

    async def end(_: Any, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """Reads a hello, and ends the registration without an answer."""
        read: Any = await context.read()
        hellos.append(farm_pb2.RegisterRequest.FromString(read).hello)

    async def scene() -> None:
        async with gateway(end) as target:
            config = ServerConfig(["CartPole-v1"], join=[target])
            async with joined(config, a_front(), "127.0.0.1:1", ""):
                while len(hellos) < 4:
                    await asyncio.sleep(0.01)
        assert caplog.messages == [
            f"not registered with gateway {target}: it ended the registration"
        ]
        hello = hellos[0]
        assert (hello.address, hello.pid) == ("127.0.0.1:1", os.getpid())
        assert hello.keeps_slots
        assert hello.takes_admin_orders
        assert not hello.tunnelled

    asyncio.run(asyncio.wait_for(scene(), 60.0))


def test_a_registered_server_reports_its_load() -> None:
    loads = asyncio.Queue[farm_pb2.ServerLoad]()

    async def register(_: Any, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """Answers the hello, and reads reports."""
        await context.read()
        await context.write(farm_pb2.RegisterResponse(ticket_key=bytes(32)).SerializeToString())
        while isinstance(read := await context.read(), bytes):
            await loads.put(farm_pb2.RegisterRequest.FromString(read).load)

    front = a_front(
        access=SimpleNamespace(tickets=SimpleNamespace(trust=lambda *_: None)),
        slot_orders=SimpleNamespace(reserved=3, by_client=farm_pb2.ClientSlots(slots={"anna": 2})),
        totals=type(farm_pb2.ServerLoad().totals),
        usage=list,
        admin_service=SimpleNamespace(answers=[]),
        direct=None,
    )

    async def scene() -> None:
        async with gateway(register) as target:
            config = ServerConfig(["CartPole-v1"], join=[target])
            async with joined(config, front, "127.0.0.1:1", ""):
                load = await loads.get()
        assert (load.reserved_slots, dict(load.client_slots.slots)) == (3, {"anna": 2})

    asyncio.run(asyncio.wait_for(scene(), 60.0))
