"""Servers of a farm on this machine: one that does not start."""

from __future__ import annotations

import asyncio
import os

import pytest

from envwire.farm.engines import local
from envwire.server.config import ServerConfig


def test_a_server_that_does_not_start_in_time_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_START_SECONDS", 0.0)

    async def scene() -> int:
        server = local.LocalServer(ServerConfig(["CartPole-v1"], port=0), "")
        with pytest.raises(OSError, match="did not start within 0 s"):
            await server.start()
        assert server._process is not None
        return server._process.pid

    pid = asyncio.run(scene())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
