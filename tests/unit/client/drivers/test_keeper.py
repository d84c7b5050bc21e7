"""What is closed is let go of, however often its environment is made again."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from envwire.client import RemoteEnv, aio
from envwire.server import InProcessTransport


@pytest.mark.parametrize("on_lost", ["raise", "truncate", "replay"])
def test_nothing_stays_of_sessions_that_were_closed(on_lost: str) -> None:
    transport = InProcessTransport(["CartPole-v1"])
    env = RemoteEnv(None, "CartPole-v1", transport=transport, on_lost=on_lost)
    drivers = []
    for _ in range(3):
        env.reset(seed=1)
        drivers.append(weakref.ref(driver_of(env)))
        env.close()
    gc.collect()
    assert [driver() for driver in drivers] == [None] * 3


def test_nor_in_a_loop() -> None:
    async def closed() -> list[Any]:
        transport = InProcessTransport(["CartPole-v1"])
        env = aio.RemoteEnv(None, "CartPole-v1", transport=transport)
        drivers = []
        for _ in range(3):
            await env.reset(seed=1)
            drivers.append(weakref.ref(driver_of(env).blocking))
            await env.close()
        gc.collect()
        return [driver() for driver in drivers]

    assert asyncio.run(closed()) == [None] * 3


def driver_of(env: Any) -> Any:
    return env._handle.driver
