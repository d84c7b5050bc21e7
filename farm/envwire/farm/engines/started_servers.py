"""Servers that an engine follows itself, because they end with the farm: processes here, and actors of Ray."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from envwire.farm.engines.engine import Observed
from envwire.farm.gateway.groups.failures import Failure
from envwire.farm.gateway.groups.group_config import GroupConfig


@dataclass(eq=False)
class Started:
    """A server, from the order to start it to its end.

    Attributes:
        doing: What it is doing before it runs.
        placed: Whether it has what it starts in: an interpreter, or room in a cluster.
        stopping: Whether it was told to stop.
    """

    doing: str = ""
    placed: bool = False
    stopping: bool = False
    life: asyncio.Task[None] = field(init=False)

    def end(self) -> None:
        """Tells it to stop: with its drain time, if it runs."""
        if not self.stopping:  # a second time would not let it drain
            self.stopping = True
            self.life.cancel()


S = TypeVar("S", bound=Started)


class StartedServers(Generic[S]):
    """Starts, counts and stops servers, each of which has a task: the engine's `_live`.

    Args:
        changed: Set when a server starts, ends or fails.
    """

    def __init__(self, changed: asyncio.Event) -> None:
        self._changed = changed
        self._started = defaultdict[str, dict[str, S]](dict)
        self._failures = defaultdict[str, list[Failure]](list)

    def _new(self, group: GroupConfig, name: str) -> S:
        """Returns a server that is about to start."""
        raise NotImplementedError

    async def _live(self, group: GroupConfig, name: str, each: S) -> None:
        """Runs a server from its start to its end; stops it when it is cancelled."""
        raise NotImplementedError

    def _lacking(self, group: str) -> str:  # noqa: ARG002 - of engines that wait for room
        """Returns what servers of a group lack (see `Observed`)."""
        return ""

    async def scale(self, group: GroupConfig, servers: int, stop: Sequence[str] = ()) -> None:
        """Starts and stops servers (see `Engine.scale`)."""
        there = self._started[group.name]
        for name in there.keys() & set(stop):
            there[name].end()
        running = {name: each for name, each in there.items() if not each.stopping}
        for _ in range(servers - len(running)):
            name = f"{group.name}-{secrets.token_hex(3)}"
            each = there[name] = self._new(group, name)
            each.life = asyncio.ensure_future(self._live(group, name, each))
            each.life.add_done_callback(partial(self._forget, group, name))
        unfinished_first = sorted(running.values(), key=lambda each: each.placed)
        for each in unfinished_first[: max(len(running) - servers, 0)]:
            each.end()

    async def observe(self) -> Mapping[str, Observed]:
        """Returns the servers of all groups (see `Engine.observe`)."""
        return {
            group: Observed(
                frozenset(name for name, each in there.items() if not each.stopping),
                next((each.doing for each in there.values() if each.doing), ""),
                self._lacking(group),
                self._failures.pop(group, ()),
            )
            for group, there in self._started.items()
            if there or group in self._failures
        }

    async def stop(self) -> None:
        """Stops all servers (see `Engine.stop`)."""
        there = [each for started in self._started.values() for each in started.values()]
        for each in there:
            each.end()
        await asyncio.gather(*(each.life for each in there), return_exceptions=True)

    def _forget(self, group: GroupConfig, name: str, _: object) -> None:
        del self._started[group.name][name]
        self._changed.set()
