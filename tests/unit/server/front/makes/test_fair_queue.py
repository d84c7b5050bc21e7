"""The queue of waiting Makes: in order, with a timeout, and no slot gets lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.makes.fair_queue import FairQueue

Queue = FairQueue[str, int]


def too_late(want: str) -> FaultError:
    return FaultError(Reason.CAPACITY_REACHED, f"no {want} in time")


def run(scene: Callable[[Queue, list[tuple[str, int]]], Awaitable[None]]) -> None:
    returned: list[tuple[str, int]] = []
    queue = Queue(lambda want, given: returned.append((want, given)))
    asyncio.run(asyncio.wait_for(scene(queue, returned), 60.0))


async def ask(queue: Queue, *wants: str) -> list[asyncio.Task[int]]:
    tasks = [asyncio.ensure_future(queue.wait(want, 60.0, too_late)) for want in wants]
    await asyncio.sleep(0)
    return tasks


def test_turns_come_in_order() -> None:
    async def scene(queue: Queue, _: list[tuple[str, int]]) -> None:
        tasks = await ask(queue, "a", "b")
        assert [waiter.request for waiter in queue] == ["a", "b"]
        for number, waiter in enumerate(queue):
            waiter.future.set_result(number)
        assert await asyncio.gather(*tasks) == [0, 1]

    run(scene)


def test_one_that_is_served_waits_no_longer_though_it_has_not_noticed() -> None:
    async def scene(queue: Queue, _: list[tuple[str, int]]) -> None:
        tasks = await ask(queue, "a", "b")
        next(iter(queue)).future.set_result(1)
        assert len(queue) == 1
        tasks[1].cancel()
        assert not queue
        assert await tasks[0] == 1

    run(scene)


def test_what_was_given_to_one_that_leaves_is_given_back() -> None:
    async def scene(queue: Queue, returned: list[tuple[str, int]]) -> None:
        (task,) = await ask(queue, "a")
        next(iter(queue)).future.set_result(7)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert returned == [("a", 7)]

    run(scene)


def test_one_that_leaves_empty_handed_gives_nothing_back() -> None:
    async def scene(queue: Queue, returned: list[tuple[str, int]]) -> None:
        waiting, refused = await ask(queue, "a", "b")
        next(waiter for waiter in queue if waiter.request == "b").future.set_exception(
            too_late("b")
        )
        for task in (waiting, refused):
            task.cancel()
        await asyncio.wait([waiting, refused])
        assert not returned
        assert not queue

    run(scene)


def test_time_is_up() -> None:
    async def scene(queue: Queue, _: list[tuple[str, int]]) -> None:
        with pytest.raises(FaultError, match="no a in time"):
            await queue.wait("a", 0.001, too_late)
        assert not queue

    run(scene)


async def wait_as(queue: Queue, client: str, *wants: str) -> list[asyncio.Task[int]]:
    tasks = [asyncio.ensure_future(queue.wait(want, 60.0, too_late, client)) for want in wants]
    await asyncio.sleep(0)
    return tasks


def test_the_first_turn_of_a_client_is_not_behind_the_thousand_of_another() -> None:
    async def scene(queue: Queue, _: list[tuple[str, int]]) -> None:
        tasks = await wait_as(queue, "one", *(f"a{number}" for number in range(1000)))
        served: list[str] = []

        async def serve(count: int) -> None:
            for _ in range(count):  # one slot at a time becomes free
                waiter = next(iter(queue))
                waiter.future.set_result(0)
                served.append(waiter.request)
                await asyncio.sleep(0)

        await serve(5)
        tasks += await wait_as(queue, "other", "b0", "b1")
        await serve(5)
        assert served == ["a0", "a1", "a2", "a3", "a4", "b0", "a5", "b1", "a6", "a7"]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert not queue._rounds

    run(scene)


def test_who_was_served_takes_its_next_turn_in_the_next_round() -> None:
    async def scene(queue: Queue, _: list[tuple[str, int]]) -> None:
        tasks = await wait_as(queue, "other", "b0")
        tasks += await wait_as(queue, "one", "a0", "a1", "a2")
        tasks += await wait_as(queue, "other", "b1", "b2")
        next(iter(queue)).future.set_result(0)
        assert await tasks[0] == 0
        assert [waiter.request for waiter in queue] == ["a0", "a1", "b1", "a2", "b2"]
        for task in tasks:
            task.cancel()

    run(scene)


def test_slots_that_are_free_at_once_are_shared() -> None:
    async def scene(queue: Queue, _: list[tuple[str, int]]) -> None:
        tasks = await wait_as(queue, "one", "a0", "a1", "a2")
        tasks += await wait_as(queue, "other", "b0", "b1")
        assert [waiter.request for waiter in queue] == ["a0", "b0", "a1", "b1", "a2"]
        for task in tasks:
            task.cancel()

    run(scene)


def test_a_full_queue_has_room_for_a_client_of_which_none_waits() -> None:
    async def scene(queue: Queue, _: list[tuple[str, int]]) -> None:
        tasks = await wait_as(queue, "one", "a0", "a1")
        assert queue.has_room(3, "one")
        assert not queue.has_room(2, "one")
        assert queue.has_room(2, "other")
        tasks += await wait_as(queue, "other", "b0")
        assert not queue.has_room(2, "other")
        tasks += await wait_as(queue, "third", "c0")
        assert not queue.has_room(2, "fourth")
        for task in tasks:
            task.cancel()

    run(scene)
