"""Calls of a disk that hangs are given up, and undone if they return."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Event

import pytest

from envwire.server._recording.folder import DiskCalls


class Disk:
    """A disk that hangs until it is thawed."""

    def __init__(self) -> None:
        self.thawed, self.undone = Event(), Event()

    def create(self) -> str:
        assert self.thawed.wait(60.0)
        return "created"

    def undo(self, created: str) -> None:
        assert created == "created"
        self.undone.set()


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.thawed.set()


def test_a_call_that_hangs_is_given_up_and_undone_when_it_returns(disk: Disk) -> None:
    with pytest.raises(TimeoutError, match=r"does not answer within 0\.01 s"):
        asyncio.run(DiskCalls(0.01).call(disk.create, disk.undo))
    assert not disk.undone.is_set()
    disk.thawed.set()
    assert disk.undone.wait(60.0)


def test_the_call_of_one_who_has_left_is_undone(disk: Disk) -> None:
    async def leave() -> None:
        calling = asyncio.ensure_future(DiskCalls(60.0).call(disk.create, disk.undo))
        await asyncio.sleep(0)
        calling.cancel()
        await calling

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(leave())
    disk.thawed.set()
    assert disk.undone.wait(60.0)


def test_while_several_calls_hang_the_disk_is_said_not_to_answer(disk: Disk) -> None:
    calls = DiskCalls(0.01)
    for _ in range(4):
        calls.check()
        with pytest.raises(TimeoutError):
            asyncio.run(calls.call(disk.create, disk.undo))
    with pytest.raises(TimeoutError, match="the disk does not answer"):
        calls.check()
    disk.thawed.set()
    assert disk.undone.wait(60.0)
    calls.check()


def test_what_the_disk_refuses_is_raised() -> None:
    def refuse() -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        asyncio.run(DiskCalls(60.0).call(refuse, print))
