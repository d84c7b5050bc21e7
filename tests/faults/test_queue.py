"""Makes that wait for a free session: in order, only so many, only so long; nobody who left keeps a place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from envwire.client import CapacityError, RemoteEnv, RequestTimeoutError, ServerUnavailableError
from envwire.codec import FaultError, Reason
from envwire.server._front.makes.make_queue import Queue
from envwire.server._front.sessions.table import Sessions
from tests.faults.hungry_envs import HUNGRY
from tests.faults.scene import active, eventually, serve


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
        await asyncio.wait_for(scene(hall or Hall()), 10.0)

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
        await asyncio.wait_for(staying, 5.0)
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


def make(target: str) -> RemoteEnv:
    return RemoteEnv(target, HUNGRY)


def test_clients_take_turns() -> None:
    turns = 12
    with serve(max_sessions=2, queue=turns) as server, ThreadPoolExecutor(turns) as pool:
        most, lock = [0], threading.Lock()

        def play(_: int) -> int:
            env = make(server.target)
            env.reset()
            with lock:
                most[0] = max(most[0], active(server.target))
            steps: int = env.step(0)[4]["steps"]
            env.close()
            return steps

        assert list(pool.map(play, range(turns), timeout=60.0)) == [1] * turns
        assert most[0] <= 2
        assert eventually(lambda: active(server.target) == 0)


def make_in_the_end(target: str) -> RemoteEnv:
    """Makes an environment, and tries again while the queue is full."""
    while True:
        try:
            return make(target)
        except CapacityError:
            continue


def test_refusals_and_the_end_of_a_server_with_a_queue() -> None:
    with (
        serve(max_sessions=1, queue=1, queue_timeout=30.0, drain_timeout=20.0) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        holder = make(server.target)
        holder.reset()
        waiting: Future[RemoteEnv] = pool.submit(make_in_the_end, server.target)
        assert eventually(lambda: _full(server.target))
        process = vars(server)["_process"]
        process.terminate()
        with pytest.raises(ServerUnavailableError) as refused:
            waiting.result(10.0)
        assert refused.value.reason == "DRAINING"
        assert holder.step(0)[4] == {"steps": 1}
        holder.close()
        assert process.wait(10.0) == 0


def _full(target: str) -> bool:
    """Returns whether the queue is full; whoever asks and finds room leaves it at once."""
    try:
        RemoteEnv(target, HUNGRY, timeout=0.1).close()
    except RequestTimeoutError:
        return False
    except CapacityError:
        return True
    return False


def test_a_timeout_in_the_queue_is_a_capacity_error() -> None:
    with serve(max_sessions=1, queue=1, queue_timeout=0.2) as server:
        env = make(server.target)
        with pytest.raises(CapacityError, match=r"within 0\.2 s") as refused:
            make(server.target)
        assert refused.value.retry_after
        env.close()
        make(server.target).close()
