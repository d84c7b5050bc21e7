"""A Make that fails or is given up leaves neither a session nor a slot."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._auth.allow_list import MakeOrder
from envwire.server._auth.client import Client
from envwire.server._front.makes.admission import Admission
from envwire.server._front.makes.session_maker import Recordings, SessionMaker
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.scoreboard import Counters
from envwire.server._processes.resources import ProcessorTime
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb

REQUEST = pb.MakeRequest(env_id="X-v0")


class Process:
    """A process that never answers."""

    pid, shared, slot = 7, True, 0
    processor_time = ProcessorTime(pid)
    output = SimpleNamespace(text=lambda: "")
    scoreboard = SimpleNamespace(counters=lambda _: Counters(*[0] * len(Counters._fields)))

    def __init__(self) -> None:
        self.asked, self.left = asyncio.Event(), False

    def open(self, _: Any) -> Process:
        return self

    def make(self, _: Any) -> asyncio.Future[bytes]:
        self.asked.set()
        return asyncio.get_running_loop().create_future()

    def end(self, _: Any) -> None:
        self.left = True


class Scene:
    """A server with one slot, whose next process is given."""

    def __init__(self, process: Process | Exception) -> None:
        self._process = process
        self.sessions = Sessions(1, lambda: 0.0, "test")
        config = ServerConfig(("X-v0",))
        environments: Any = SimpleNamespace(
            loaded=SimpleNamespace(served=[("envwire", "X-v0")]),
            allow_list=SimpleNamespace(check=lambda _: self._order()),
            placement=self,
            forkserver=None,
        )
        tickets: Any = None
        pool: Any = SimpleNamespace(take=lambda *_: None)
        self.maker = SessionMaker(
            config,
            environments,
            Admission(config, self.sessions, environments, tickets),
            self.sessions,
            pool,
            Recordings(config),
            None,
            [],
        )

    def _order(self) -> Any:
        return MakeOrder.__new__(MakeOrder)

    async def find(self, _: str) -> Any:
        if isinstance(self._process, Exception):
            raise self._process
        return self._process


def test_a_make_that_is_given_up_leaves_its_process() -> None:
    async def main() -> None:
        scene = Scene(process := Process())
        making = asyncio.ensure_future(scene.maker.make(REQUEST, Client()))
        await process.asked.wait()
        assert len(scene.sessions) == 1
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        assert process.left
        assert not scene.sessions.live
        assert len(scene.sessions) == 0
        assert scene.sessions.tally.makes == {"CANCELLED": 1}

    asyncio.run(asyncio.wait_for(main(), 60.0))


@pytest.mark.parametrize("error", [OSError("too many files"), ValueError("a bug")])
def test_a_make_without_a_process_gives_its_slot_back(error: Exception) -> None:
    async def main() -> None:
        scene = Scene(error)
        with pytest.raises((FaultError, ValueError)) as told:
            await scene.maker.make(REQUEST, Client())
        assert len(scene.sessions) == 0
        if isinstance(error, OSError):
            assert isinstance(told.value, FaultError)
            assert told.value.reason is Reason.CAPACITY_REACHED
            assert told.value.retry_after
            assert "too many files" in told.value.message

    asyncio.run(asyncio.wait_for(main(), 60.0))
