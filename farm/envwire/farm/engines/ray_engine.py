"""The Ray engine of groups: an actor for each server, which Ray places where its processors and GPUs are free.

Actors end with the farm, whose driver is this process. None is restarted by Ray: the group decides, with its pauses.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from envwire.farm.engines.engine import Observed, server_config
from envwire.farm.engines.ray import STOP_SECONDS, ServerActor
from envwire.farm.gateway.groups.failures import Failure, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig

#: Characters of Ray's error that are told: its end names the exception of a server that did not start.
_SHOWN = 300


@dataclass(eq=False)
class _Started:
    """A server, from the order to start it to its end.

    Attributes:
        actor: Its actor.
        serves: Whether it has started.
        stopping: Whether it was told to stop.
    """

    actor: Any
    serves: bool = False
    stopping: bool = False
    life: asyncio.Task[None] = field(init=False)

    def end(self) -> None:
        """Tells it to stop: with its drain time, if it runs."""
        if not self.stopping:  # a second time would not let it drain
            self.stopping = True
            self.life.cancel()


class RayEngine:
    """Runs servers as actors.

    Args:
        ray: The imported `ray` package, connected to its cluster.
        gateways: HOST:PORT of the gateways that they join.
        changed: Set when a server starts, ends or fails.
    """

    def __init__(self, ray: Any, gateways: Sequence[str], changed: asyncio.Event) -> None:
        self._ray = ray
        self._make: Any = ray.remote(ServerActor)
        self._gateways = gateways
        self._changed = changed
        self._started = defaultdict[str, dict[str, _Started]](dict)
        self._failures = defaultdict[str, list[Failure]](list)
        self._cpus: dict[str, float] = {}

    async def scale(self, group: GroupConfig, servers: int, stop: Sequence[str] = ()) -> None:
        """Starts and stops actors (see `Engine.scale`)."""
        there = self._started[group.name]
        for name in there.keys() & set(stop):
            there[name].end()
        running = {name: each for name, each in there.items() if not each.stopping}
        for _ in range(servers - len(running)):
            self._start(group, f"{group.name}-{secrets.token_hex(3)}")
        unfinished_first = sorted(running.values(), key=lambda each: each.serves)
        for each in unfinished_first[: max(len(running) - servers, 0)]:
            each.end()

    def _start(self, group: GroupConfig, name: str) -> None:
        own = {"insecure": True, "sys_path": (os.getcwd(),)}
        config = server_config(group, name, self._gateways, **own)
        self._cpus[group.name] = group.cpus or 1
        options = {
            "name": name,
            "num_cpus": self._cpus[group.name],
            "num_gpus": group.gpu_count,
            "memory": group.memory or None,
            "scheduling_strategy": "SPREAD",
            "max_concurrency": 3,  # `ended` waits while others are called
        }
        actor = self._make.options(**options).remote(config.to_json())
        each = self._started[group.name][name] = _Started(actor)
        each.life = asyncio.ensure_future(self._live(group, name, each))
        each.life.add_done_callback(partial(self._forget, group, name))

    async def observe(self) -> Mapping[str, Observed]:
        """Returns the actors of all groups (see `Engine.observe`)."""
        return {
            group: Observed(
                frozenset(name for name, each in there.items() if not each.stopping),
                lacking=self._lacking(group),
                failures=self._failures.pop(group, ()),
            )
            for group, there in self._started.items()
            if there or group in self._failures
        }

    def _lacking(self, group: str) -> str:
        if all(each.serves for each in self._started[group].values()):
            return ""
        of_all, free = (
            told().get("CPU", 0.0)
            for told in (self._ray.cluster_resources, self._ray.available_resources)
        )
        needed = self._cpus[group]
        if free >= needed:
            return ""
        return f"each server takes {needed:g} CPUs: the Ray cluster has {of_all:g}, {free:g} of them free"

    async def stop(self) -> None:
        """Stops all actors (see `Engine.stop`)."""
        there = [each for started in self._started.values() for each in started.values()]
        for each in there:
            each.end()
        await asyncio.gather(*(each.life for each in there), return_exceptions=True)

    def _forget(self, group: GroupConfig, name: str, _: object) -> None:
        del self._started[group.name][name]
        self._changed.set()

    async def _live(self, group: GroupConfig, name: str, each: _Started) -> None:
        """Waits for an actor's start and its end, and stops it when the engine does."""
        try:
            await each.actor.placed.remote()
            each.serves = True
            self._changed.set()
            await each.actor.ended.remote()
        except Exception as error:  # Ray's own
            self._failures[group.name].append(_failure_of(name, error, serves=each.serves))
        finally:
            if each.stopping and each.serves:
                with contextlib.suppress(Exception):
                    seconds = group.server.drain_timeout + STOP_SECONDS
                    await asyncio.wait_for(each.actor.stop.remote(), seconds)
            self._ray.kill(each.actor)


def _failure_of(name: str, error: Exception, *, serves: bool) -> Failure:
    text = " ".join(str(error).split())[-_SHOWN:]
    if "OutOfMemory" in type(error).__name__:
        return Failure(Kind.MEMORY, f"{name}: {text}")
    if serves:
        return Failure(Kind.ENDED, f"{name} ended by itself, or its node did: {text}")
    return Failure(Kind.NOT_STARTED, f"{name}: {text}")
