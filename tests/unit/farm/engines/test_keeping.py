"""The keeper of groups with engines that fail, hang and lose servers: what is said, and that nothing starts twice."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from envwire.farm.engines.engine import Observed
from envwire.farm.engines.keeping import Keeper
from envwire.farm.gateway.groups.failures import EngineError, Failure, Kind
from envwire.farm.gateway.groups.group import Group, GroupState
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.farm.gateway.groups.groups import Groups
from envwire.server.config import ServerConfig
from tests.unit.farm.gateway.registry.test_registry import Farm

SECONDS = 30.0
DOWN = EngineError(Failure(Kind.ENGINE, "no Docker engine answers"))
FORBIDDEN = EngineError(Failure(Kind.PERMISSION, "cannot create pods"))


class FakeEngine:
    """An engine in memory.

    Attributes:
        running: Names of its servers, by group.
        orders: What it was told to have, in turn.
        observing: Raised by `observe`, unless None.
        scaling: Raised by `scale`, unless None.
        free: Not set while `scale` hangs.
    """

    def __init__(self) -> None:
        self.running: dict[str, list[str]] = {}
        self.failures: dict[str, list[Failure]] = {}
        self.orders: list[int] = []
        self.observing: Exception | None = None
        self.scaling: Exception | None = None
        self.free = asyncio.Event()
        self.free.set()

    async def scale(self, group: GroupConfig, servers: int, stop: Sequence[str] = ()) -> None:
        self.orders.append(servers)
        await self.free.wait()
        if self.scaling is not None:
            raise self.scaling
        there = [each for each in self.running.get(group.name, []) if each not in stop]
        more = (f"{group.name}-{len(self.orders)}-{each}" for each in range(servers - len(there)))
        self.running[group.name] = [*there, *more]

    async def observe(self) -> Mapping[str, Observed]:
        if self.observing is not None:
            raise self.observing
        names = {*self.running, *self.failures}
        return {
            name: Observed(
                frozenset(self.running.get(name, ())), failures=self.failures.pop(name, ())
            )
            for name in names
        }

    async def stop(self) -> None:
        self.running.clear()


class Scene:
    """A keeper with two groups, each on an engine of its own."""

    def __init__(self) -> None:
        self.farm = Farm()
        server = ServerConfig(["CartPole-v1"], max_sessions=2)
        other = ServerConfig(["Pendulum-v1"], max_sessions=2)
        local = GroupConfig(name="pole", engine="local", max=4, server=server)
        docker = GroupConfig(name="swing", engine="docker", image="swing", server=other)
        self.groups = Groups({"pole": local, "swing": docker}, self.farm.registry)
        self.engine, self.other = FakeEngine(), FakeEngine()
        self.changed = asyncio.Event()
        self.keeper = Keeper(
            self.groups, {"local": self.engine, "docker": self.other}, self.changed
        )

    def group(self, name: str = "pole") -> Group:
        return self.groups.named(name)

    def want(self, makes: int, name: str = "pole") -> None:
        self.group(name).waiting += makes
        self.groups.wake(self.group(name))

    async def until(self, holds: Callable[[], object]) -> None:
        async def wait() -> None:
            while not holds():
                await asyncio.sleep(0.01)

        await asyncio.wait_for(wait(), SECONDS)


@contextlib.asynccontextmanager
async def keeping() -> AsyncGenerator[Scene]:
    scene = Scene()
    task = asyncio.ensure_future(scene.keeper.keep())
    try:
        yield scene
    finally:
        task.cancel()
        await asyncio.wait({task})


def test_an_engine_that_does_not_answer_is_said_and_stops_no_other() -> None:
    async def run() -> None:
        async with keeping() as scene:
            scene.engine.observing = DOWN
            scene.want(1)
            scene.want(1, "swing")
            await scene.until(lambda: scene.other.running.get("swing"))
            group = scene.group()
            await scene.until(lambda: group.back_off.last is not None)
            assert group.back_off.last == DOWN.failure
            assert not scene.engine.orders
            scene.engine.observing = None  # it is back
            group.back_off.forget()
            await scene.until(lambda: scene.engine.running.get("pole"))
            assert scene.engine.orders == [1]

    asyncio.run(run())


def test_an_unexpected_error_of_an_engine_is_said_and_the_farm_goes_on() -> None:
    async def run() -> None:
        async with keeping() as scene:
            scene.engine.observing = RuntimeError("500 Server Error")
            scene.want(1)
            group = scene.group()
            await scene.until(lambda: group.back_off.last is not None)
            assert str(group.back_off.last) == "the engine fails: RuntimeError: 500 Server Error"
            scene.engine.observing = None
            scene.engine.scaling = RuntimeError("507 no space")
            group.back_off.forget()
            await scene.until(lambda: "507 no space" in str(group.back_off.last))
            scene.engine.scaling = None
            group.back_off.forget()
            await scene.until(lambda: scene.engine.running.get("pole"))

    asyncio.run(run())


def test_a_slow_engine_gets_one_order_at_a_time() -> None:
    async def run() -> None:
        async with keeping() as scene:
            scene.engine.free.clear()
            scene.want(1)
            await scene.until(lambda: scene.engine.orders)
            for _ in range(5):
                scene.want(1)
                await asyncio.sleep(0.05)
            assert scene.engine.orders == [1]
            scene.engine.free.set()
            await scene.until(lambda: len(scene.engine.running.get("pole", ())) == 3)
            assert scene.engine.orders == [1, 3]

    asyncio.run(run())


def test_a_refused_order_is_said_and_tried_again_after_a_pause_only() -> None:
    async def run() -> None:
        async with keeping() as scene:
            scene.engine.scaling = FORBIDDEN
            scene.want(1)
            group = scene.group()
            await scene.until(lambda: group.back_off.last == FORBIDDEN.failure)
            scene.changed.set()
            await asyncio.sleep(0.1)
            assert scene.engine.orders == [1]
            assert group.state(group.back_off.at) == GroupState.STATE_FAILING
            assert group.wait(group.back_off.at) == 0.0  # nothing to wait for
            scene.engine.scaling = None
            group.back_off.forget()
            await scene.until(lambda: scene.engine.running.get("pole"))
            assert len(scene.engine.orders) == 2

    asyncio.run(run())


def test_a_server_that_runs_out_of_memory_is_replaced_after_a_pause() -> None:
    async def run() -> None:
        async with keeping() as scene:
            scene.want(1)
            await scene.until(lambda: scene.engine.running.get("pole"))
            scene.engine.running["pole"] = []
            scene.engine.failures["pole"] = [Failure(Kind.MEMORY, "pole-1 used all of its memory")]
            group = scene.group()
            await scene.until(lambda: group.back_off.last is not None)
            assert scene.engine.orders == [1]
            assert "out of memory" in group.why(group.back_off.at)
            group.back_off.forget()
            await scene.until(lambda: scene.engine.running["pole"])
            assert scene.engine.orders == [1, 1]

    asyncio.run(run())


def test_what_an_earlier_farm_left_running_is_found_and_not_started_again() -> None:
    async def run() -> None:
        async with keeping() as scene:
            scene.engine.running["pole"] = ["pole-a", "pole-b"]
            scene.want(4)
            await scene.until(lambda: len(scene.group().running) == 2)
            await asyncio.sleep(0.1)
            assert not scene.engine.orders

    asyncio.run(run())
