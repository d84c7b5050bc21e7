"""A Make that is sent twice under one id makes one session."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.makes.make_deduplicator import MakeDeduplicator
from envwire.server._front.sessions.table import Sessions
from envwire.v1 import environment_pb2 as pb

ID, OTHER = b"i" * 16, b"o" * 16


class Table:
    """The sessions of a server, at a time of our choosing."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.fresh: set[str] = set()

    def clock(self) -> float:
        return self.now

    def is_fresh(self, session_id: str) -> bool:
        return session_id in self.fresh

    def abandon(self, session_id: str) -> None:
        self.fresh.discard(session_id)


class Server:
    """Makes sessions on command, and counts them."""

    def __init__(self, kept_bytes: int = 10_000) -> None:
        self.table = Table()
        self.fresh = self.table.fresh
        self.made = 0
        self.cancelled = 0
        self.may_go_on = asyncio.Event()
        self.failure: Exception | None = None
        self.refusal = ""
        self.kept = MakeDeduplicator(cast("Sessions", self.table), kept_bytes)

    async def making(self) -> pb.InteractResponse:
        try:
            await self.may_go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failure:
            raise self.failure
        self.made += 1
        reply = pb.InteractResponse()
        if self.refusal:
            reply.error.message = self.refusal
            return reply
        reply.make.session_id = f"session {self.made}"
        self.fresh.add(reply.make.session_id)
        return reply

    async def make(
        self,
        id_: bytes = ID,
        env_id: str = "x",
        owner: str = "me",
        deadline: float = math.inf,
    ) -> str:
        request = pb.MakeRequest(env_id=env_id, request_id=id_)
        reply = await self.kept.run_once(owner, request, self.making, deadline)
        return reply.error.message or reply.make.session_id


def run(scene: Callable[[Server], Awaitable[None]], ready: bool = True, **settings: int) -> None:
    async def play() -> None:
        server = Server(**settings)
        if ready:
            server.may_go_on.set()
        await scene(server)

    asyncio.run(asyncio.wait_for(play(), 60.0))


def test_a_repeat_gets_the_same_answer() -> None:
    async def scene(server: Server) -> None:
        assert await server.make() == await server.make() == "session 1"
        assert server.made == 1

    run(scene)


def test_a_repeat_joins_a_make_under_way() -> None:
    async def scene(server: Server) -> None:
        both = asyncio.gather(server.make(), server.make())
        await asyncio.sleep(0)
        server.may_go_on.set()
        assert await both == ["session 1", "session 1"]

    run(scene, ready=False)


def test_another_id_another_client_or_none_make_another_session() -> None:
    async def scene(server: Server) -> None:
        made = [
            await server.make(),
            await server.make(OTHER),
            await server.make(owner="you"),
            await server.make(b""),
            await server.make(b""),
        ]
        assert made == [f"session {number}" for number in range(1, 6)]

    run(scene)


def test_another_request_under_the_same_id_is_refused() -> None:
    async def scene(server: Server) -> None:
        await server.make()
        with pytest.raises(FaultError, match="another Make") as refused:
            await server.make(env_id="y")
        assert refused.value.reason is Reason.REQUEST_ID_REUSED

    run(scene)


@pytest.mark.parametrize("size", [1, 15, 17, 1000])
def test_an_id_has_sixteen_bytes(size: int) -> None:
    async def scene(server: Server) -> None:
        with pytest.raises(FaultError, match=f"of {size} bytes?; send 16 random") as refused:
            await server.make(b"i" * size)
        assert refused.value.reason is Reason.MALFORMED_REQUEST
        assert server.made == len(server.kept) == 0

    run(scene)


def test_failures_are_not_kept() -> None:
    async def scene(server: Server) -> None:
        server.failure = FaultError(Reason.CAPACITY_REACHED, "full")
        with pytest.raises(FaultError, match="full"):
            await server.make()
        server.failure, server.refusal = None, "the environment raised"
        assert await server.make() == "the environment raised"
        server.refusal = ""
        assert await server.make(env_id="y") == "session 2"

    run(scene)


def test_a_session_that_serves_or_ends_is_forgotten() -> None:
    async def scene(server: Server) -> None:
        await server.make()
        server.fresh.clear()
        server.kept.sweep()
        assert len(server.kept) == 0
        assert await server.make() == "session 2"

    run(scene)


@pytest.mark.parametrize("id_", [ID, b""])
def test_a_session_that_is_made_as_its_caller_leaves_is_ended(id_: bytes) -> None:
    async def scene(server: Server) -> None:
        first = asyncio.ensure_future(server.make(id_))
        await asyncio.sleep(0)
        server.may_go_on.set()
        # Its session is made by the time that the caller's cancellation arrives, so there is nothing left to cancel.
        asyncio.get_running_loop().call_soon(first.cancel)
        await asyncio.wait([first])
        assert first.cancelled()
        assert len(server.fresh) == len(server.kept) == 0

    run(scene, ready=False)


@pytest.mark.parametrize("id_", [ID, b""])
def test_an_answer_after_the_callers_deadline_leaves_no_session(id_: bytes) -> None:
    async def scene(server: Server) -> None:
        late = asyncio.ensure_future(server.make(id_, deadline=1001.0))
        await asyncio.sleep(0)
        server.table.now = 1001.0  # and gRPC has not cancelled the call yet
        server.may_go_on.set()
        await asyncio.wait([late])
        assert late.cancelled()
        assert server.made == 1
        assert len(server.fresh) == len(server.kept) == 0

    run(scene, ready=False)


@pytest.mark.parametrize("late_first", [True, False])
def test_a_late_caller_does_not_end_the_session_of_another_one(late_first: bool) -> None:
    async def scene(server: Server) -> None:
        deadlines = (1001.0, math.inf) if late_first else (math.inf, 1001.0)
        calls = [asyncio.ensure_future(server.make(deadline=each)) for each in deadlines]
        await asyncio.sleep(0)
        server.table.now = 1001.0
        server.may_go_on.set()
        await asyncio.wait(calls)
        assert [call.cancelled() for call in calls] == [late_first, not late_first]
        assert server.fresh == {"session 1"}
        assert await server.make() == "session 1"

    run(scene, ready=False)


def test_a_make_goes_on_while_anybody_waits_and_no_longer() -> None:
    async def scene(server: Server) -> None:
        first, second = (asyncio.ensure_future(server.make()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        assert server.cancelled == 0
        second.cancel()
        await asyncio.wait([first, second])
        third = asyncio.ensure_future(server.make())
        await asyncio.sleep(0)
        server.may_go_on.set()
        assert await third == "session 1"
        assert server.cancelled == 1

    run(scene, ready=False)


def test_what_is_kept_is_bounded_in_bytes() -> None:
    async def scene(server: Server) -> None:
        for number in range(100):
            await server.make(number.to_bytes(16, "big"))
        assert 1 < len(server.kept) < 20
        kept = len(server.kept)
        await server.make((100).to_bytes(16, "big"))
        assert len(server.kept) == kept, "one for another"
        server.made = 100
        assert await server.make((99).to_bytes(16, "big")) == "session 100"
        assert await server.make(bytes(16)) == "session 101"

    run(scene, kept_bytes=200)
