"""Groups on Ray, tested without Ray: what actors reserve, and what is said of those that wait, fail and end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from envwire.farm.engines.engine import Observed
from envwire.farm.engines.ray_engine import RayEngine
from envwire.farm.gateway.groups.failures import Kind
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.server.config import ServerConfig

GROUP = GroupConfig(
    name="pole", engine="ray", max=4, cpus=2, gpu_count=1, server=ServerConfig(["CartPole-v1"])
)


class Actor:
    """An actor whose calls are answered by the test."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.futures = {name: asyncio.Future[Any]() for name in ("placed", "ended", "stop")}
        for name, future in self.futures.items():
            setattr(self, name, SimpleNamespace(remote=lambda future=future: future))
        self.killed = False


class Ray:
    """A cluster with two processors, both in use."""

    def __init__(self) -> None:
        self.actors: list[Actor] = []

    def remote(self, _: type) -> Any:
        def options(**options: Any) -> Any:
            def make(_: str) -> Actor:
                self.actors.append(Actor(options))
                return self.actors[-1]

            return SimpleNamespace(remote=make)

        return SimpleNamespace(options=options)

    @staticmethod
    def kill(actor: Actor) -> None:
        actor.killed = True

    @staticmethod
    def cluster_resources() -> dict[str, float]:
        return {"CPU": 2.0}

    @staticmethod
    def available_resources() -> dict[str, float]:
        return {}


class Scene:
    """An engine with one actor."""

    async def begin(self) -> None:
        self.ray = Ray()
        self.engine = RayEngine(self.ray, ["10.0.0.1:50050"], asyncio.Event())
        await self.engine.scale(GROUP, 1)
        await asyncio.sleep(0)
        [self.actor] = self.ray.actors

    async def look(self) -> Observed:
        for _ in range(5):
            await asyncio.sleep(0)
        return (await self.engine.observe()).get("pole", Observed())


def test_an_actor_reserves_what_its_group_says_and_waits_for_it() -> None:
    async def run() -> None:
        scene = Scene()
        await scene.begin()
        options = scene.actor.options
        assert (options["num_cpus"], options["num_gpus"]) == (2, 1)
        seen = await scene.look()
        assert seen.running == {options["name"]}
        assert seen.lacking == "each server takes 2 CPUs: the Ray cluster has 2, 0 of them free"
        scene.actor.futures["placed"].set_result(("10.0.0.2:50051", "node"))
        assert not (await scene.look()).lacking
        scene.actor.futures["stop"].set_result(None)
        await scene.engine.scale(GROUP, 0, [options["name"]])
        assert not (await scene.look()).running
        assert scene.actor.killed

    asyncio.run(run())


def test_an_actor_that_does_not_start_and_one_that_dies_are_failures() -> None:
    async def run() -> None:
        for starts, kind in ((False, Kind.NOT_STARTED), (True, Kind.ENDED)):
            scene = Scene()
            await scene.begin()
            if starts:
                scene.actor.futures["placed"].set_result(("10.0.0.2:50051", "node"))
                await scene.look()
            name = "ended" if starts else "placed"
            scene.actor.futures[name].set_exception(RuntimeError("The actor died.\n  No module"))
            [failure] = (await scene.look()).failures
            assert failure.kind is kind
            assert "The actor died. No module" in failure.text
            assert scene.actor.killed
            assert not (await scene.look()).running

    asyncio.run(run())
