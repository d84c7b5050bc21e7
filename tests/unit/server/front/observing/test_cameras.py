"""All watchers of a session share one camera; without watchers there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front import observing
from envwire.server._front.observing import Cameras
from envwire.server._ipc.frames import Picture


class Session:
    """Paints a picture whenever the test says so."""

    id = "one"

    def __init__(self) -> None:
        self.rendered = 0
        self.paint: asyncio.Queue[Picture | FaultError] = asyncio.Queue()

    async def render(self) -> Picture:
        self.rendered += 1
        painted = await self.paint.get()
        if isinstance(painted, FaultError):
            raise painted
        return painted


def picture(number: int) -> Picture:
    return Picture(1, 1, bytes((number, 0, 0)), "", 0.0)


def on_a_loop(test: Callable[[Any], Awaitable[None]]) -> Callable[[pytest.MonkeyPatch], None]:
    """Runs a test with a session on an event loop, without pauses between pictures."""

    async def run() -> None:
        await asyncio.wait_for(test(Session()), 60.0)

    def plain(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(observing, "_PAUSE_SECONDS", 0.0)
        asyncio.run(run())

    plain.__name__ = getattr(test, "__name__", "")
    return plain


@on_a_loop
async def test_all_watchers_see_the_same_picture(session: Any) -> None:
    shared = Cameras()
    watchers = [shared.watch(session) for _ in range(3)]
    waiting = [asyncio.ensure_future(anext(watcher)) for watcher in watchers]
    await asyncio.sleep(0)
    session.paint.put_nowait(picture(1))
    assert await asyncio.gather(*waiting) == [picture(1)] * 3
    assert session.rendered <= 2, "the first, and at most one that has begun"
    for watcher in watchers:
        await watcher.aclose()


@on_a_loop
async def test_nothing_is_rendered_when_nobody_watches(session: Any) -> None:
    shared = Cameras()
    first, second = shared.watch(session), shared.watch(session)
    for number, watcher in ((1, first), (2, second)):
        waiting = asyncio.ensure_future(anext(watcher))
        await asyncio.sleep(0)
        session.paint.put_nowait(picture(number))
        await waiting
    await first.aclose()
    await second.aclose()
    rendered = session.rendered
    session.paint.put_nowait(picture(3))
    for _ in range(10):
        await asyncio.sleep(0)
    assert session.rendered == rendered
    assert session.paint.qsize() >= 1


@on_a_loop
async def test_the_end_of_the_session_is_told_to_all(session: Any) -> None:
    shared = Cameras()
    watchers = [shared.watch(session) for _ in range(2)]
    waiting = [asyncio.ensure_future(anext(watcher)) for watcher in watchers]
    await asyncio.sleep(0)
    session.paint.put_nowait(FaultError(Reason.SESSION_CLOSED, "closed"))
    for each in waiting:
        with pytest.raises(FaultError, match="closed"):
            await each
