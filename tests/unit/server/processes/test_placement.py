"""Placement: Makes that come at once fill processes, and start no more than they need."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from envwire.server._processes import environments
from envwire.server._processes.environments import Placement
from envwire.server.config import ServerConfig


class FakeProcess:
    """A process as far as placement sees it; it takes a few turns of the loop to start."""

    started: list[FakeProcess]
    fails = 0

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self.sessions = 0
        self.alive = True

    @property
    def free(self) -> bool:
        return self.alive and self.sessions < self._slots

    @classmethod
    async def spawn(cls, _: Any, slots: int, __: int) -> FakeProcess:
        for _ in range(3):
            await asyncio.sleep(0)
        if cls.fails:
            cls.fails -= 1
            raise OSError("no files")
        cls.started.append(cls(slots))
        return cls.started[-1]

    def open(self) -> None:
        assert self.free
        self.sessions += 1


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "Process", FakeProcess)
    FakeProcess.started, FakeProcess.fails = [], 0


async def _never(*_: Any) -> int:
    raise AssertionError


def made(slots: int, *, share: bool = False) -> Placement:
    config = ServerConfig(("CartPole-v1",), sessions_per_process=slots, share_processes=share)
    return Placement(config, _never)


async def make(where: Placement, client: str = "alice") -> Any:
    process: Any = await where.find(client)
    process.open()
    return process


@pytest.mark.parametrize(("makes", "slots", "processes"), [(12, 2, 6), (60, 50, 2), (5, 1, 5)])
def test_makes_at_once_fill_as_few_processes_as_they_can(
    makes: int, slots: int, processes: int
) -> None:
    async def run() -> None:
        where = made(slots)
        await asyncio.gather(*(make(where) for _ in range(makes)))

    asyncio.run(run())
    assert len(FakeProcess.started) == processes
    assert sum(each.sessions for each in FakeProcess.started) == makes


def test_a_process_that_was_full_takes_sessions_again() -> None:
    async def run() -> None:
        where = made(2)
        first, *_ = [await make(where) for _ in range(3)]
        first.sessions -= 1
        assert await make(where) is first

    asyncio.run(run())


def test_a_process_that_goes_takes_no_session() -> None:
    async def run() -> None:
        where = made(3)
        first = await make(where)
        first.alive = False
        assert await make(where) is not first

    asyncio.run(run())


@pytest.mark.parametrize(("share", "processes"), [(False, 2), (True, 1)])
def test_clients_share_a_process_only_if_the_operator_says_so(share: bool, processes: int) -> None:
    async def run() -> None:
        where = made(4, share=share)
        await asyncio.gather(*(make(where, client) for client in ("alice", "bob") * 2))

    asyncio.run(run())
    assert Counter(each.sessions for each in FakeProcess.started) == {4 // processes: processes}


def test_makes_that_fail_or_are_given_up_leave_the_others_what_they_need() -> None:
    FakeProcess.fails = 1

    async def run() -> list[Any]:
        where = made(2)
        tasks = [asyncio.ensure_future(make(where)) for _ in range(5)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = asyncio.run(run())
    assert [type(result) for result in results] == [
        OSError,
        asyncio.CancelledError,
        FakeProcess,
        FakeProcess,
        FakeProcess,
    ]
    assert [each.sessions for each in FakeProcess.started] == [2, 1]
