"""Failures of a connection to a server, as relayed calls see them."""

from __future__ import annotations

import asyncio

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
