"""Scaling of a farm: adds a server when few slots are free, and drains one when too many stay free."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from envwire.farm.gateway.gateway import Running
from envwire.farm.gateway.registry.states import State
from envwire.server._grammar import counted

_log = logging.getLogger("envwire.farm")

_POLL_SECONDS = 0.5
#: Pause after a server that could not be added: doubled each time.
_FIRST_PAUSE, _MAX_PAUSE = 1.0, 60.0
#: States of servers whose slots count.
_USABLE = frozenset({State.STATE_FREE, State.STATE_BUSY})


@dataclass(frozen=True)
class Scale:
    """The bounds of a farm that grows and shrinks.

    Attributes:
        least: Smallest number of servers.
        most: Largest number of servers.
        free: A server is added when fewer slots than this are free.
        idle: A server is drained when twice `free` slots have been free without it for this many seconds.

    Raises:
        ValueError: The bounds contradict each other.
    """

    least: int
    most: int
    free: int = 1
    idle: float = 60.0

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ValueError(f"--min is {self.least}, more than --max, {self.most}")

    def clamp(self, count: int) -> int:
        """Returns the closest number within the bounds."""
        return min(max(count, self.least), self.most)


class Load(NamedTuple):
    """The slots of one server.

    Attributes:
        address: The server.
        used: Number of taken slots.
        free: Number of free slots.
    """

    address: str
    used: int
    free: int


class FarmSituation(NamedTuple):
    """The state of a farm on which decisions are based.

    Attributes:
        loads: The servers that accept Makes.
        size: Number of servers that the engine runs, including starting and lost ones, without draining ones.
        starting: Number of servers that are starting.
        waiting: Number of Makes that wait for a slot.
    """

    loads: Sequence[Load]
    size: int
    starting: int = 0
    waiting: int = 0


class Scaling:
    """Decides when servers are added and drained. No I/O; callers pass the time.

    Args:
        scale: The bounds.
    """

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self._idle_since: float | None = None
        self._pause, self._not_before = 0.0, 0.0

    def must_add(self, seen: FarmSituation, now: float) -> bool:
        """Returns whether to add a server. A starting server is assumed to be as large as the largest.

        Args:
            seen: The situation.
            now: Monotonic time, in seconds.
        """
        if now < self._not_before:
            return False
        largest = max((each.used + each.free for each in seen.loads), default=self._scale.free)
        coming = sum(each.free for each in seen.loads) + seen.starting * largest
        missing = coming < self._scale.free + seen.waiting
        return seen.size < self._scale.least or (missing and seen.size < self._scale.most)

    def added(self) -> None:
        """Records that a server was added."""
        self._pause = self._not_before = 0.0

    def failed(self, now: float) -> float:
        """Records that a server could not be added; returns the seconds until the next attempt."""
        if now >= self._not_before:  # simultaneous failures count once
            self._pause = min(2 * self._pause, _MAX_PAUSE) or _FIRST_PAUSE
            self._not_before = now + self._pause
        return self._not_before - now

    def to_drain(self, seen: FarmSituation, now: float) -> Load | None:
        """Returns the server to drain, if any: the one with the fewest sessions, which move elsewhere.

        Args:
            seen: The situation.
            now: Monotonic time, in seconds.
        """
        fewest = min(seen.loads, key=lambda each: each.used, default=None)
        if fewest is None or not self._can_spare(fewest, seen):
            self._idle_since = None
            return None
        if self._idle_since is None:
            self._idle_since = now
        if now - self._idle_since < self._scale.idle:
            return None
        self._idle_since = None
        return fewest

    def _can_spare(self, server: Load, seen: FarmSituation) -> bool:
        if seen.starting or seen.waiting or seen.size <= self._scale.least:
            return False
        left = sum(each.free for each in seen.loads if each is not server)
        return left - server.used >= 2 * self._scale.free


class Fleet(Protocol):
    """Starts and stops the servers of an engine."""

    @property
    def size(self) -> int:
        """Number of servers, including starting ones, without draining ones."""
        ...

    async def add(self) -> str:
        """Starts a server; returns its address when it serves."""
        ...

    async def drain(self, address: str) -> None:
        """Stops the server at an address for good; its sessions get the drain time to end or to move elsewhere."""
        ...


async def keep_scaled(running: Running, fleet: Fleet, scale: Scale) -> None:
    """Adds and drains servers of a farm until it is cancelled.

    Args:
        running: The farm's gateway.
        fleet: Its servers.
        scale: The bounds.
    """
    scaling = Scaling(scale)
    starting, draining = set[asyncio.Future[None]](), set[asyncio.Future[None]]()
    try:
        while True:
            now = time.monotonic()
            seen = FarmSituation(_loads(running), fleet.size, len(starting), len(running.queue))
            fewest = scaling.to_drain(seen, now)
            if scaling.must_add(seen, now):
                _log.info("adding a server: %s", _summary(seen))
                _begin(_add(fleet, running, scaling), starting)
            elif fewest is not None and not draining:
                _log.info("draining the server at %s: %s", fewest.address, _summary(seen))
                _begin(_drain(fleet, fewest.address), draining)
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        for each in starting | draining:
            each.cancel()


async def _add(fleet: Fleet, running: Running, scaling: Scaling) -> None:
    try:
        await running.registered_at(await fleet.add())
    except Exception as error:  # the engine may raise anything
        pause = scaling.failed(time.monotonic())
        _log.warning("no server was added: %s; the next attempt is in %.0f s", error, pause)
    else:
        scaling.added()


async def _drain(fleet: Fleet, address: str) -> None:
    try:
        await fleet.drain(address)
    except Exception as error:  # the engine may raise anything
        _log.warning("the server at %s was not drained: %s", address, error)


def _begin(doing: Coroutine[Any, Any, None], under_way: set[asyncio.Future[None]]) -> None:
    task = asyncio.ensure_future(doing)
    under_way.add(task)
    task.add_done_callback(under_way.discard)


def _loads(running: Running) -> list[Load]:
    now = time.monotonic()
    usable = (each for each in running.registry if each.state(now) in _USABLE)
    return [Load(each.address, each.load, max(each.capacity - each.load, 0)) for each in usable]


def _summary(seen: FarmSituation) -> str:
    used, free = (sum(getattr(each, name) for each in seen.loads) for name in ("used", "free"))
    return (
        f"{counted(used, 'slot')} used, {free} free, {counted(seen.waiting, 'Make', 'wait')}, "
        f"{counted(seen.size, 'server')}"
    )
