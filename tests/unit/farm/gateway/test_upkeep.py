"""The result of a gateway's probe of a server."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.upkeep import Upkeep
from envwire.farm.v1 import farm_pb2


@pytest.mark.parametrize("reports", [False, True])
def test_a_report_during_a_probe_is_an_answer(reports: bool) -> None:
    now = 0.0

    async def probe() -> bool:
        async def answers(_: float) -> bool:
            nonlocal now
            now = 0.5
            if reports:
                registry.report(member, farm_pb2.ServerLoad(), now)
            probed.set()
            return False

        probed = asyncio.Event()
        routes: Any = SimpleNamespace(link=lambda _: SimpleNamespace(answers=answers))
        registry = Registry(now)
        upkeep = Upkeep(registry, routes, lambda: now)
        member = registry.register(farm_pb2.ServerHello(server_id="a"), "a:1", now)
        registry.on_cut(member)
        await probed.wait()
        await asyncio.sleep(0)
        await upkeep.stop()
        return member.unanswered

    assert asyncio.run(asyncio.wait_for(probe(), 60.0)) is not reports
