"""Deadlines that are moved, and the future that is used again, in an event loop whose clock the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from envwire.client._transports.loop_waits import LoopDeadline, ReusableFuture


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock the test moves."""

    now = 0.0
    timers = 0

    def time(self) -> float:
        return self.now

    def call_at(self, *args: object, **kwargs: object) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_at(*args, **kwargs)  # type: ignore[arg-type]


def in_loop(test: Callable[[Loop], object]) -> None:
    loop = Loop()

    async def main() -> None:
        result = test(loop)
        if asyncio.iscoroutine(result):
            await result

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_deadline_is_missed_once_and_moving_it_makes_no_timer() -> None:
    async def test(loop: Loop) -> None:
        missed: list[float] = []
        deadline = LoopDeadline(lambda: missed.append(loop.now))
        for _ in range(100):
            deadline.start(5.0)
            loop.now += 0.01
        assert loop.timers == 1
        loop.now = 5.0  # the first timer fires; the last deadline is later
        await turns()
        assert missed == []
        loop.now = 6.0
        await turns()
        assert missed == [6.0]
        loop.now = 60.0
        await turns()
        assert missed == [6.0]

    in_loop(test)


def test_a_deadline_that_is_brought_forward_or_stopped() -> None:
    async def test(loop: Loop) -> None:
        missed: list[float] = []
        deadline = LoopDeadline(lambda: missed.append(loop.now))
        deadline.start(50.0)
        deadline.start(1.0)
        loop.now = 1.5
        await turns()
        assert missed == [1.5]
        deadline.start(1.0)
        deadline.stop()
        loop.now = 200.0
        await turns()
        assert missed == [1.5]
        deadline.close()

    in_loop(test)


def test_a_reusable_future_serves_many_waits_and_wakes_its_task_at_once() -> None:
    async def test(loop: Loop) -> None:
        future: ReusableFuture[int] = ReusableFuture(loop)
        name: ContextVar[str] = ContextVar("name")
        seen: list[tuple[str, int]] = []

        async def wait() -> None:
            name.set("waiter")
            for _ in range(3):
                future.begin()
                seen.append((name.get(), await future))

        task = asyncio.ensure_future(wait())
        await turns()

        def come(number: int) -> None:
            future.set_result(number)
            seen.append(("loop", 0))

        for number in range(3):
            loop.call_soon(come, number)
            await turns()
        await task
        assert seen == [
            ("waiter", 0),
            ("loop", 0),
            ("waiter", 1),
            ("loop", 0),
            ("waiter", 2),
            ("loop", 0),
        ]

    in_loop(test)


def test_a_reusable_future_that_fails_or_whose_task_is_cancelled() -> None:
    async def test(loop: Loop) -> None:
        future: ReusableFuture[int] = ReusableFuture(loop)

        async def wait() -> int:
            future.begin()
            return await future

        task = asyncio.ensure_future(wait())
        await turns()
        future.set_exception(OSError("broke"))
        assert not task.done()
        with pytest.raises(OSError, match="broke"):
            await task
        task = asyncio.ensure_future(wait())
        await turns()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not future.waiting
        late = asyncio.ensure_future(asyncio.wait_for(wait(), 1.0))
        await turns()
        loop.now += 2.0
        with pytest.raises(asyncio.TimeoutError):
            await late

    in_loop(test)
