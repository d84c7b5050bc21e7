"""The line of those that wait: in order, only so long, and nothing that is given gets lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.makes.waiting import WaitingLine

Line = WaitingLine[str, int]


def too_late(want: str) -> FaultError:
    return FaultError(Reason.CAPACITY_REACHED, f"no {want} in time")


def run(scene: Callable[[Line, list[tuple[str, int]]], Awaitable[None]]) -> None:
    returned: list[tuple[str, int]] = []
    line = Line(lambda want, given: returned.append((want, given)))
    asyncio.run(asyncio.wait_for(scene(line, returned), 10.0))


async def ask(line: Line, *wants: str) -> list[asyncio.Task[int]]:
    tasks = [asyncio.ensure_future(line.wait(want, 60.0, too_late)) for want in wants]
    await asyncio.sleep(0)
    return tasks


def test_turns_come_in_order() -> None:
    async def scene(line: Line, _: list[tuple[str, int]]) -> None:
        tasks = await ask(line, "a", "b")
        assert [turn.want for turn in line] == ["a", "b"]
        for number, turn in enumerate(line):
            turn.come.set_result(number)
        assert await asyncio.gather(*tasks) == [0, 1]

    run(scene)


def test_one_that_is_served_waits_no_longer_though_it_has_not_noticed() -> None:
    async def scene(line: Line, _: list[tuple[str, int]]) -> None:
        tasks = await ask(line, "a", "b")
        next(iter(line)).come.set_result(1)
        assert len(line) == 1
        tasks[1].cancel()
        assert not line
        assert await tasks[0] == 1

    run(scene)


def test_what_was_given_to_one_that_leaves_is_given_back() -> None:
    async def scene(line: Line, returned: list[tuple[str, int]]) -> None:
        (task,) = await ask(line, "a")
        next(iter(line)).come.set_result(7)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert returned == [("a", 7)]

    run(scene)


def test_one_that_leaves_empty_handed_gives_nothing_back() -> None:
    async def scene(line: Line, returned: list[tuple[str, int]]) -> None:
        waiting, refused = await ask(line, "a", "b")
        next(turn for turn in line if turn.want == "b").come.set_exception(too_late("b"))
        for task in (waiting, refused):
            task.cancel()
        await asyncio.wait([waiting, refused])
        assert not returned
        assert not line

    run(scene)


def test_time_is_up() -> None:
    async def scene(line: Line, _: list[tuple[str, int]]) -> None:
        with pytest.raises(FaultError, match="no a in time"):
            await line.wait("a", 0.001, too_late)
        assert not line

    run(scene)
