"""Checks of the server's health over one connection go on, though strangers may send little."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from envwire.server import ServerConfig
from envwire.server._auth.access import Access
from envwire.server._auth.scopes import Scope
from envwire.server._front.grpc.edge import GrpcPort, options
from envwire.server._front.grpc.forwarding import UNAUTHENTICATED_BYTES, Patience
from envwire.server._front.grpc.services import Health
from tests.secured import write_tokens

#: A check takes 60 bytes and more.
CHECKS = UNAUTHENTICATED_BYTES // 40


def test_checks_without_a_token_pass_on_one_connection(tmp_path: Path) -> None:
    write_tokens(tmp_path / "tokens", {"alice": [Scope.PLAY]})
    config = ServerConfig(["CartPole-v1"], port=0, tokens=tmp_path / "tokens", public=True)

    async def main() -> None:
        access, connections = Access(config), set()
        health, server = Health(access), grpc.aio.server(options=options(config))
        server.add_generic_rpc_handlers((health.handlers(),))
        port = GrpcPort(server, config, access, Patience(refill=0.0))
        answered = access.on_answered

        def seen(connection: str) -> None:
            connections.add(connection)
            answered(connection)

        access.on_answered = seen
        target = await port.start()
        await health.set(health_pb2.HealthCheckResponse.SERVING)
        async with grpc.aio.insecure_channel(target) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for _ in range(CHECKS):
                await stub.Check(health_pb2.HealthCheckRequest(), timeout=20.0)
        await port.stop(0.0)
        assert len(connections) == 1

    asyncio.run(main())


def test_a_named_service_is_looked_up_for_those_who_show_a_token(tmp_path: Path) -> None:
    token = write_tokens(tmp_path / "tokens", {"alice": [Scope.PLAY]})["alice"]
    config = ServerConfig(["CartPole-v1"], port=0, tokens=tmp_path / "tokens", public=True)

    async def main() -> None:
        access = Access(config)
        health, server = Health(access), grpc.aio.server(options=options(config))
        server.add_generic_rpc_handlers((health.handlers(),))
        port = GrpcPort(server, config, access)
        target = await port.start()
        await health.set(health_pb2.HealthCheckResponse.SERVING)
        asked = health_pb2.HealthCheckRequest(service="another")
        shown = (("authorization", f"Bearer {token}"),)
        async with grpc.aio.insecure_channel(target) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            answer = await stub.Check(asked, timeout=60.0)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING, "of the whole server"
            with pytest.raises(grpc.aio.AioRpcError) as told:
                await stub.Check(asked, timeout=60.0, metadata=shown)
            assert told.value.code() is grpc.StatusCode.NOT_FOUND
        await port.stop(0.0)

    asyncio.run(main())
