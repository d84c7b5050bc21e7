"""Exchanges in an event loop: how often the loop is kept from going to sleep."""

from __future__ import annotations

import asyncio
import socket

import pytest

from envwire.client._transports.direct.async_frames import AsyncFrames
from envwire.client._transports.direct.direct_channel import Channel
from envwire.wire.frames import HEADER
from envwire.wire.local_channel import AdaptiveSpin

REPLY = HEADER.pack(2, 0, 0) + b"ok"
EXCHANGES = 20


def test_exchanges_in_a_row_are_looked_for_once_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them takes one turn of the loop here; a look that outlived its exchange would be in all that follow."""
    looks = 0

    def goes_on(_: AdaptiveSpin) -> bool:
        nonlocal looks
        looks += 1
        return True

    monkeypatch.setattr(AdaptiveSpin, "begin", lambda _: True)
    monkeypatch.setattr(AdaptiveSpin, "goes_on", goes_on)

    async def drive() -> None:
        ours, theirs = socket.socketpair()
        frames = AsyncFrames(Channel(ours), lambda error, _: error)
        with theirs:
            for _ in range(EXCHANGES):
                theirs.sendall(REPLY)
                assert (await frames.exchange(b"step", 10.0)).message == b"ok"
        frames.release()
        frames.channel.close()

    asyncio.run(drive())
    assert looks == EXCHANGES


def test_a_reply_that_polling_found_is_not_taken_for_one_that_it_missed() -> None:
    """Every one of them was, so that the loop slept before each reply: a step took twice as long."""

    async def drive() -> None:
        ours, theirs = socket.socketpair()
        frames = AsyncFrames(Channel(ours), lambda error, _: error)
        spin = frames._spin  # whether it polls shows in times only
        spin.short, spin.moment = True, 60.0
        with theirs:
            for _ in range(EXCHANGES):
                theirs.sendall(REPLY)
                await frames.exchange(b"step", 10.0)
                assert spin.short
        frames.release()
        frames.channel.close()

    asyncio.run(drive())


def test_a_channel_that_broke_leaves_the_one_that_got_its_descriptor() -> None:
    """A reply that nobody awaits ends a channel; the next connection gets its number, and must go on being watched."""

    async def drive() -> None:
        ours, theirs = socket.socketpair()
        broken = AsyncFrames(Channel(ours), lambda error, _: error)
        number = ours.fileno()
        with theirs:
            theirs.sendall(REPLY)
            while ours.fileno() >= 0:
                await asyncio.sleep(0)
            mine, others = socket.socketpair()
            frames = AsyncFrames(Channel(mine), lambda error, _: error)
            assert mine.fileno() == number
            with pytest.raises(OSError, match="Bad file descriptor"):
                await broken.exchange(b"step", 10.0)
        with others:
            waiting = asyncio.ensure_future(frames.exchange(b"step", 2.0))
            await asyncio.sleep(0)
            others.sendall(REPLY)
            assert (await waiting).message == b"ok"
        frames.release()
        frames.channel.close()

    asyncio.run(drive())


def test_a_loop_that_ends_before_it_closes_a_channel_is_left() -> None:
    """Closing is left to the loop that watches the channel, which may not get to it."""
    loop = asyncio.new_event_loop()
    ours, theirs = socket.socketpair()

    async def attach() -> AsyncFrames:
        return AsyncFrames(Channel(ours), lambda error, _: error)

    frames = loop.run_until_complete(attach())
    loop.call_soon(loop.stop)
    loop.call_soon(frames.channel.close)
    loop.run_forever()
    loop.close()
    frames.release()  # asks nothing of the closed loop
    frames.channel.close()
    assert ours.fileno() == -1
    theirs.close()
