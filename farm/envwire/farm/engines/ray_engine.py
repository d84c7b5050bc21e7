"""The Ray engine of groups: an actor for each server, which Ray places where its processors and GPUs are free.

Actors end with the farm, whose driver is this process. None is restarted by Ray: the group decides, with its pauses.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from envwire.farm.engines.engine import server_config
from envwire.farm.engines.ray import STOP_SECONDS, ServerActor
from envwire.farm.engines.started_servers import Started, StartedServers
from envwire.farm.gateway.groups.failures import Failure, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig

#: Characters of Ray's error that are told: its end names the exception of a server that did not start.
_SHOWN = 300


@dataclass(eq=False, kw_only=True)
class _Actor(Started):
    """A server in an actor of Ray."""

    actor: Any


class RayEngine(StartedServers[_Actor]):
    """Runs servers as actors.

    Args:
        ray: The imported `ray` package, connected to its cluster.
        gateways: HOST:PORT of the gateways that they join.
        changed: Set when a server starts, ends or fails.
    """

    def __init__(self, ray: Any, gateways: Sequence[str], changed: asyncio.Event) -> None:
        super().__init__(changed)
        self._ray = ray
        self._make: Any = ray.remote(ServerActor)
        self._gateways = gateways
        self._cpus: dict[str, float] = {}

    def _new(self, group: GroupConfig, name: str) -> _Actor:
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
        return _Actor(actor=self._make.options(**options).remote(config.to_json()))

    def _lacking(self, group: str) -> str:
        if all(each.placed for each in self._started[group].values()):
            return ""
        of_all, free = (
            told().get("CPU", 0.0)
            for told in (self._ray.cluster_resources, self._ray.available_resources)
        )
        needed = self._cpus[group]
        if free >= needed:
            return ""
        return f"each server takes {needed:g} CPUs: the Ray cluster has {of_all:g}, {free:g} of them free"

    async def _live(self, group: GroupConfig, name: str, each: _Actor) -> None:
        """Waits for an actor's start and its end, and stops it when the engine does."""
        try:
            await each.actor.placed.remote()
            each.placed = True
            self._changed.set()
            await each.actor.ended.remote()
        except Exception as error:  # Ray's own
            self._failures[group.name].append(_failure_of(name, error, serves=each.placed))
        finally:
            if each.stopping and each.placed:
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
