"""The pool of warm environments: how many it makes, when it closes them, and how long it waits after failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from envwire.codec import encode_value
from envwire.server._auth.allow_list import AllowList
from envwire.server._front.makes.warm_pool import WarmPool
from envwire.server._front.sessions.table import Sessions
from envwire.server._processes.forkserver_start import Loaded
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb

LIBRARIES = ("envwire", "gymnasium")
MADE = pb.InteractResponse(make=pb.MakeResponse(library="envwire")).SerializeToString()


class FakeProcess:
    """A process whose environment is made at once, or never."""

    pid = 7

    def __init__(self, reply: bytes | None) -> None:
        self.reply = reply
        self.alive, self.ended, self.exited = True, False, False

    def open(self, listener: Any) -> FakeProcess:
        self.listener = listener
        return self

    def make(self, _: Any) -> asyncio.Future[bytes]:
        answer = asyncio.get_running_loop().create_future()
        if self.reply is not None:
            answer.set_result(self.reply)
        return answer

    def end(self, _: Any) -> None:
        self.alive, self.ended = False, True

    def kill(self) -> None:
        self.alive = False

    def die(self) -> None:
        self.alive = False
        self.listener.on_lost()

    async def wait_exited(self) -> None:
        assert self.ended
        await asyncio.sleep(0)
        self.exited = True


class Scene:
    """A pool of a server with room for some; the time stands still."""

    def __init__(self, *warm: str, capacity: int = 10) -> None:
        self.now = 100.0
        self.sessions = Sessions(capacity, lambda: self.now, "test")
        self.made: list[FakeProcess] = []
        self.replies: list[bytes | None] = []
        self.given: list[str] = []
        self.allow_list = AllowList()
        self.placement: Any = self
        self.loaded = Loaded(libraries=[pb.LibraryInfo(name=name) for name in LIBRARIES])
        for library in LIBRARIES:
            listing = self.loaded.environments.environments.add(library=library)
            listing.spec.id = "A-v0"
        self.loaded = Loaded(self.loaded.environments, self.loaded.libraries)
        config = ServerConfig(("A-v0",), warm=warm)
        self.pool = WarmPool(config, self, self.sessions)  # type: ignore[arg-type]

    async def fresh(self) -> FakeProcess:
        self.made.append(FakeProcess(self.replies.pop(0) if self.replies else MADE))
        return self.made[-1]

    def give(self, process: FakeProcess, client: str) -> None:
        self.given.append(client)

    async def sweep(self, seconds: float = 0.0) -> int:
        """Lets time pass, sweeps, and returns how many are ready."""
        self.now += seconds
        self.pool.sweep()
        for _ in range(20):
            await asyncio.sleep(0)
        return self.pool.ready().total()


def run(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 60.0))


def request(**kwargs: Any) -> pb.MakeRequest:
    made = pb.MakeRequest(env_id="A-v0")
    for name, value in kwargs.items():
        encode_value(value, made.kwargs.entries.add(name=name).value)
    return made


def test_it_makes_what_there_is_room_for_and_closes_what_sessions_need() -> None:
    async def scene() -> None:
        there = Scene("A-v0=2", capacity=3)
        assert await there.sweep() == 2
        there.sessions.reserve("bob")
        there.sessions.reserve("bob")
        assert await there.sweep() == 1
        assert there.made[-1].ended
        there.sessions.unreserve("bob")
        assert await there.sweep() == 2

    run(scene)


def test_one_that_cannot_be_made_is_tried_again_ever_later() -> None:
    async def scene() -> None:
        there = Scene("A-v0=1")
        there.replies = [b"no answer", b"\xff", *[pb.InteractResponse().SerializeToString()] * 9]
        assert await there.sweep() == 0
        for number, pause in enumerate((1, 2, 4, 8, 16, 32, 60, 60), 2):
            assert await there.sweep(pause - 0.01) == 0
            assert len(there.made) == number - 1
            await there.sweep(0.02)
            assert len(there.made) == number
        there.replies = []
        assert await there.sweep(61.0) == 1
        assert there.pool.take(request(), "bob") is not None
        assert await there.sweep() == 1  # all is well again: at once
        there.made[-1].die()
        assert await there.sweep(0.9) == 0
        assert await there.sweep(0.2) == 1

    run(scene)


def test_a_dead_one_is_given_to_nobody() -> None:
    async def scene() -> None:
        there = Scene("A-v0=2")
        assert await there.sweep() == 2
        there.made[0].alive = False  # which its link has not told yet
        warm: Any = there.pool.take(request(), "bob")
        assert warm.process is there.made[1]
        assert there.given == ["bob"]
        assert there.pool.take(request(), "bob") is None

    run(scene)


def test_it_belongs_to_the_first_library_with_the_id_and_to_equal_makes() -> None:
    async def scene() -> None:
        there = Scene('A-v0{"x": 1, "y": [2.5, "z", null]}=1')
        assert await there.sweep() == 1
        other = [
            request(),
            request(x=1),
            request(y=[2.5, "z", None], x=1),
            request(x=1.0, y=[2.5, "z", None]),
            request(x=True, y=[2.5, "z", None]),
        ]
        same = request(x=1, y=[2.5, "z", None])
        for changes in ({"library": "gymnasium"}, {"prefer": "gymnasium"}, {"render_mode": "x"}):
            other.append(pb.MakeRequest(**changes))
            other[-1].MergeFrom(same)
        assert [there.pool.take(each, "bob") for each in other] == [None] * len(other)
        same.prefer, same.request_id = "envwire", b"1" * 16
        same.lease.FromSeconds(9)
        assert there.pool.take(same, "bob") is not None

    run(scene)


@pytest.mark.parametrize("ready", [0, 1])
def test_it_ends_with_the_server_even_while_it_makes_one(ready: int) -> None:
    async def scene() -> None:
        there = Scene("A-v0=2")
        there.replies = [MADE] * ready + [None]
        assert await there.sweep() == ready
        await there.pool.stop()
        assert [process.ended for process in there.made] == [True] * (ready + 1)
        assert all(process.exited for process in there.made[:ready])
        assert await there.sweep(99.0) == 0
        await there.pool.stop()

    run(scene)
