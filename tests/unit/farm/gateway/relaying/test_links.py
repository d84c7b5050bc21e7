"""Failures of a connection to a server, as relayed calls see them."""

from __future__ import annotations

import asyncio
import socket

import pytest

from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.relaying.links import Link, ServerGoneError
from tests.unit.farm.gateway.registry.test_registry import hello


def test_a_stream_that_ended_between_two_requests_is_a_server_that_is_gone() -> None:
    async def write() -> None:
        raise asyncio.InvalidStateError("RPC already finished.")  # what gRPC says then

    async def ask() -> None:
        link = Link(Member(hello("a"), "127.0.0.1:1", 0.0), GatewayConfig())
        try:
            await link.unless_gone(write(), lambda: None)
        finally:
            await link.close()

    with pytest.raises(ServerGoneError, match="has ended"):
        asyncio.run(ask())


def test_a_make_at_a_server_that_is_found_dead_goes_elsewhere() -> None:
    """It was cancelled together with the health check in progress, and its client was told CANCELLED."""

    async def make(listener: socket.socket) -> None:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        link = Link(Member(hello("a"), address, 0.0), GatewayConfig())
        answer = asyncio.get_running_loop().create_future()
        making = asyncio.ensure_future(link.while_answering(answer))
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)  # by the check
        with connection:
            await link.close()
            await making

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        with pytest.raises(ServerGoneError, match="is dead"):
            asyncio.run(make(listener))
