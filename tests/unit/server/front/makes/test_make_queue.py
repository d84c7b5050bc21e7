"""Makes that wait for a free slot: in order, bounded in number and time; cancelled ones free their place."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._auth.client import Client
from envwire.server._front.makes.admission import Admission, Queue
from envwire.server._front.sessions.table import Sessions
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb


class Hall:
    """A queue in front of two slots."""

    def __init__(self, timeout: float = 60.0, per_client: int = 0) -> None:
        self.sessions = Sessions(2, lambda: 0.0, "test", per_client)
        self.queue = Queue(self.sessions, 3, timeout)
        self.served: list[str] = []

    def ask(self, owner: str) -> asyncio.Task[None]:
        return asyncio.ensure_future(self._ask(owner))

    async def _ask(self, owner: str) -> None:
        await self.queue.reserve(owner)
        self.served.append(owner)


def run(scene: Callable[[Hall], Awaitable[None]], hall: Hall | None = None) -> None:
    async def main() -> None:
        await asyncio.wait_for(scene(hall or Hall()), 60.0)

    asyncio.run(main())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_slots_go_to_those_who_wait_in_order() -> None:
    async def scene(hall: Hall) -> None:
        for owner in "abcde":
            hall.ask(owner)
            await settle()
        assert hall.served == ["a", "b"]
        for owner in "aabc":
            hall.sessions.unreserve("a" if owner == "a" else owner)
            await settle()
        assert hall.served == list("abcde")
        assert len(hall.queue) == 0

    run(scene)


def test_only_so_many_wait() -> None:
    async def scene(hall: Hall) -> None:
        tasks = [hall.ask(owner) for owner in "abcde"]
        await settle()
        with pytest.raises(FaultError, match="3 wait already") as refused:
            await hall.queue.reserve("f")
        assert refused.value.reason is Reason.CAPACITY_REACHED
        assert refused.value.retry_after
        for task in tasks:
            task.cancel()

    run(scene)


def test_only_so_long() -> None:
    async def scene(hall: Hall) -> None:
        for owner in "ab":
            await hall.queue.reserve(owner)
        with pytest.raises(FaultError, match=r"none was freed within 0\.01 s") as refused:
            await hall.queue.reserve("c")
        assert refused.value.retry_after
        assert len(hall.queue) == 0

    run(scene, Hall(timeout=0.01))


@pytest.mark.parametrize("just_served", [False, True])
def test_who_leaves_keeps_no_slot(just_served: bool) -> None:
    async def scene(hall: Hall) -> None:
        for owner in "ab":
            await hall.queue.reserve(owner)
        leaving, staying = hall.ask("c"), hall.ask("d")
        await settle()
        if just_served:
            hall.sessions.unreserve("a")  # its turn came, and it has not noticed yet
            leaving.cancel()
        else:
            leaving.cancel()
            await settle()
            hall.sessions.unreserve("a")
        await asyncio.wait_for(staying, 60.0)
        assert leaving.cancelled()
        assert hall.served == ["d"]
        assert len(hall.sessions) == 2

    run(scene)


def test_one_client_does_not_fill_the_queue() -> None:
    async def scene(hall: Hall) -> None:
        for owner in "ab":
            await hall.queue.reserve(owner)
        tasks = [hall.ask("c"), hall.ask("c")]
        await settle()
        with pytest.raises(FaultError) as refused:
            await hall.queue.reserve("c")
        assert refused.value.reason is Reason.CLIENT_LIMIT_REACHED
        for task in tasks:
            task.cancel()

    run(scene, Hall(per_client=2))


def test_who_waits_is_sent_away_when_the_server_stops() -> None:
    async def scene(hall: Hall) -> None:
        tasks = [hall.ask(owner) for owner in "abcd"]
        await settle()
        hall.queue.reject_all(FaultError(Reason.DRAINING, "it stops"))
        for task in tasks[2:]:
            with pytest.raises(FaultError, match="it stops"):
                await task

    run(scene)


def admission(sessions: Sessions) -> Admission:
    """Returns the admission of a server that makes X-v0 of one library."""
    allow_list = SimpleNamespace(check=lambda request: request.env_id)
    loaded = SimpleNamespace(served=[("envwire", "X-v0")])
    environments: Any = SimpleNamespace(loaded=loaded, allow_list=allow_list)
    tickets: Any = None
    return Admission(ServerConfig(("X-v0",)), sessions, environments, tickets)


def test_a_make_whose_reserved_slot_was_given_back_gets_no_other() -> None:
    async def main() -> None:
        sessions = Sessions(2, lambda: 0.0, "test")
        sessions.reserve_slots(b"a", 0, 5.0, "token alice")
        with pytest.raises(FaultError, match="not used in time"):
            await admission(sessions).reserve(Client("gateway", reservation=b"a"))
        await admission(sessions).reserve(Client("gateway", reservation=b"b"))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("env_id", "library", "served"),
    [
        ("X-v0", "", True),
        ("X-v0", "envwire", True),
        ("X-v0", "gymnasium", False),
        ("Y-v0", "", False),
    ],
)
def test_only_what_is_served_is_made(env_id: str, library: str, served: bool) -> None:
    there = admission(Sessions(2, lambda: 0.0, "test"))
    request = pb.MakeRequest(env_id=env_id, library=library)
    if served:
        assert there.check(request, Client()) == env_id
    else:
        with pytest.raises(FaultError) as told:
            there.check(request, Client())
        assert told.value.reason is Reason.UNKNOWN_ENVIRONMENT
