"""The servers that Ray runs, tested without Ray: a server that does not start does not count."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.farm.engines import ray as ray_engine
from envwire.farm.engines.ray import RayFleet
from envwire.server.config import ServerConfig


class Actor:
    """An actor that Ray could not start, or that tells where its server is."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails
        self.placed: Any = self
        self.killed = False

    def remote(self) -> asyncio.Future[tuple[str, str]]:
        told = asyncio.get_running_loop().create_future()
        if self._fails:
            told.set_exception(RuntimeError("the actor died"))
        else:
            told.set_result(("10.0.0.1:50051", "node"))
        return told


class Ray:
    """Starts actors; every other one fails, the first among them."""

    def __init__(self) -> None:
        self.actors: list[Actor] = []

    def remote(self, _: type) -> Any:
        class Maker:
            @staticmethod
            def options(**_: Any) -> type[Maker]:
                return Maker

            @staticmethod
            def remote(_: str) -> Actor:
                self.actors.append(Actor(fails=len(self.actors) % 2 == 0))
                return self.actors[-1]

        return Maker

    @staticmethod
    def kill(actor: Actor) -> None:
        actor.killed = True


class FullRay(Ray):
    """Has one CPU: the first actor gets it, and the others wait."""

    def remote(self, _: type) -> Any:
        started, waiting = Actor(fails=False), Actor(fails=False)
        waiting.placed = SimpleNamespace(remote=lambda: asyncio.get_running_loop().create_future())
        actors = iter((started, waiting))
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda _: next(actors)))

    @staticmethod
    def cluster_resources() -> dict[str, float]:
        return {"CPU": 1.0}

    @staticmethod
    def available_resources() -> dict[str, float]:
        return {}


def test_a_server_that_does_not_start_counts_no_more() -> None:
    async def run() -> None:
        ray = Ray()
        fleet = RayFleet(ray, ServerConfig(environments=["CartPole-v1"]))
        with pytest.raises(RuntimeError, match="the actor died"):
            await fleet.add()
        assert (fleet.size, [each.killed for each in ray.actors]) == (0, [True])
        assert await fleet.add() == "10.0.0.1:50051"
        assert (fleet.size, [each.killed for each in ray.actors]) == (1, [True, False])

    asyncio.run(run())


def test_servers_without_a_cpu_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ray_engine, "_TELL_SECONDS", 0.01)

    async def run() -> None:
        fleet = RayFleet(FullRay(), ServerConfig(environments=["CartPole-v1"]))
        starting = asyncio.ensure_future(fleet.start(2))
        while not caplog.messages:
            await asyncio.sleep(0.01)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(asyncio.wait_for(run(), 60))
    assert caplog.messages[0] == (
        "waiting for 1 of 2 servers, each of which takes a CPU: the Ray cluster has 1, 0 of them free; add nodes to "
        "it, or ask for fewer servers with -n"
    )
