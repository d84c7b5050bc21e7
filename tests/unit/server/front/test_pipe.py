"""A pipe passes on what came early, and reads no faster than the other end accepts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from envwire.server._front import pipe
from envwire.server._front.pipe import PipeEnd


class Narrow(asyncio.Transport):
    """A transport that is full after each write, until the test drains it.

    Attributes:
        paused: Whether it reads nothing.
        written: What was written to it.
    """

    def __init__(self, end: PipeEnd, **details: Any) -> None:
        super().__init__(details)
        self.paused = False
        self.written = b""
        self.is_closed = self.is_aborted = False
        self._end = end
        end.connection_made(self)

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data
        self._end.pause_writing()

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True


def test_what_came_early_is_passed_on_and_no_more_is_read_until_it_is_taken() -> None:
    ours, theirs = PipeEnd(), PipeEnd()
    near, far = Narrow(ours), Narrow(theirs)
    ours.data_received(b"early")
    ours.join(theirs)
    assert (far.written, near.paused, far.paused) == (b"early", True, False)
    theirs.resume_writing()
    assert not near.paused


def test_an_end_is_read_before_it_is_joined_and_the_rest_is_passed_on() -> None:
    async def play() -> None:
        ours, theirs = PipeEnd(), PipeEnd()
        near, far = Narrow(ours), Narrow(theirs)
        reading = asyncio.ensure_future(ours.read(5))
        for part in (b"he", b"llo and"):
            await asyncio.sleep(0)
            assert not near.paused
            ours.data_received(part)
            assert near.paused
            await asyncio.sleep(0)
        assert await reading == b"hello"
        ours.join(theirs)
        assert far.written == b" and"

    asyncio.run(play())


def test_reading_from_an_end_that_is_lost_fails() -> None:
    async def play() -> None:
        end = PipeEnd()
        Narrow(end)
        reading = asyncio.ensure_future(end.read(5))
        await asyncio.sleep(0)
        end.connection_lost(None)
        with pytest.raises(ConnectionError):
            await reading
        with pytest.raises(ConnectionError):
            await end.read(1)

    asyncio.run(play())


def test_a_peer_that_does_not_take_the_rest_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipe, "_LINGER_SECONDS", 0.0)

    async def play() -> None:
        ours, theirs = PipeEnd(), PipeEnd()
        Narrow(ours)
        far = Narrow(theirs)
        ours.join(theirs)
        ours.data_received(b"the rest")
        ours.connection_lost(None)
        assert (far.is_closed, far.is_aborted) == (True, False)
        await asyncio.sleep(0.01)
        assert far.is_aborted

    asyncio.run(play())
