"""A Make of an asyncio environment whose caller leaves: its session is closed once it is made."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.client._drivers import lease_renewer
from envwire.client._recovery.async_handle import AsyncSessionHandle
from envwire.client._recovery.strategies import RecoveryStrategy


def test_a_session_that_is_made_for_nobody_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, closed = threading.Event(), threading.Event(), list[object]()
    monkeypatch.setattr(lease_renewer, "close_later", closed.append)

    def make(_: RecoveryStrategy) -> Any:
        begun.set()
        assert go_on.wait(60.0)
        return SimpleNamespace(driver="its driver")

    async def main() -> None:
        maker: Any = SimpleNamespace(make=make)
        handle = AsyncSessionHandle(maker, RecoveryStrategy(), "x")
        making = asyncio.ensure_future(handle.make_new())
        await asyncio.to_thread(begun.wait, 60.0)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        assert not closed
        go_on.set()
        while not closed:
            await asyncio.sleep(0.001)
        assert handle.vacant

    asyncio.run(asyncio.wait_for(main(), 60.0))
    assert closed == ["its driver"]
