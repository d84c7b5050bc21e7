"""What the log says of a gateway that does not register a server."""

from __future__ import annotations

import asyncio
import os
from types import SimpleNamespace
from typing import Any

import grpc.aio
import pytest

from envwire.farm.v1 import farm_pb2
from envwire.server._front.farm.joining import joined
from envwire.server._processes.forkserver_start import Loaded
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb


def test_a_gateway_that_ends_a_registration_is_not_said_to_be_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    control = SimpleNamespace(describe=pb.GetServerInfoResponse, loaded=Loaded())
    front: Any = SimpleNamespace(control_service=control, packages=[])
    hellos = list[farm_pb2.ServerHello]()

    async def end(_: Any, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """Reads a hello, and ends the registration without an answer."""
        read: Any = await context.read()
        hellos.append(farm_pb2.RegisterRequest.FromString(read).hello)

    handler: Any = grpc.stream_stream_rpc_method_handler(end)

    async def scene() -> None:
        gateway = grpc.aio.server()
        gateway.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(
                    "envwire.farm.v1.FarmService", {"Register": handler}
                )
            ]
        )
        target = f"127.0.0.1:{gateway.add_insecure_port('127.0.0.1:0')}"
        await gateway.start()
        config = ServerConfig(["CartPole-v1"], join=[target])
        async with joined(config, front, "127.0.0.1:1", ""):
            while not caplog.messages:
                await asyncio.sleep(0.01)
        await gateway.stop(0.0)
        assert caplog.messages[0] == (
            f"not registered with gateway {target}: it ended the registration"
        )
        hello = hellos[0]
        assert (hello.address, hello.pid) == ("127.0.0.1:1", os.getpid())
        assert hello.keeps_slots
        assert hello.takes_admin_orders
        assert not hello.tunnelled

    asyncio.run(asyncio.wait_for(scene(), 60.0))
