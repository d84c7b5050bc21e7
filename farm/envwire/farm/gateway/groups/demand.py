"""Decides how many servers a group should have, and which of them may stop. No I/O; callers pass the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from envwire.farm.gateway.groups.group_config import GroupConfig


class Situation(NamedTuple):
    """The servers of a group, and what is asked of them.

    Attributes:
        loads: Taken slots of each server that takes Makes, by its name at the engine.
        size: Number of servers that the engine runs, starting ones included, stopping ones not.
        waiting: Number of Makes, and of allocated slots, that wait for the group.
    """

    loads: Mapping[str, int]
    size: int
    waiting: int = 0


class Target(NamedTuple):
    """What a group should have.

    Attributes:
        servers: Number of servers.
        stop: Names of those that stop; `servers` does not count them.
    """

    servers: int
    stop: Sequence[str] = ()


@dataclass
class Demand:
    """The demand for one group's servers.

    A server is added as soon as Makes wait that the free slots, and those of starting servers, do not serve. It stops
    when it had no session for `idle` seconds. So no session has to move, and servers that are used do not stop.

    Args:
        config: The group's settings.

    Attributes:
        least: Fewest servers, which an operator may set.
    """

    config: GroupConfig

    def __post_init__(self) -> None:
        self.least = self.config.min
        self._idle_since: dict[str, float] = {}

    def target(self, seen: Situation, now: float, *, paused: bool = False) -> Target:
        """Returns what the group should have.

        Args:
            seen: The situation.
            now: Monotonic time, in seconds.
            paused: Whether no server may be added, and idle ones stop at once.
        """
        idle = self._idle(seen, now, 0.0 if paused else self.config.idle)
        if paused:
            return Target(seen.size - len(idle), idle)
        missing = self._missing(seen)
        if missing > 0:
            more = -(-missing // self.config.slots)
            return Target(max(self.least, seen.size, min(seen.size + more, self.config.max)), ())
        if seen.size < self.least:
            return Target(self.least)
        stop = idle[: min(seen.size - self.least, -missing // self.config.slots)]
        return Target(seen.size - len(stop), stop)

    def _missing(self, seen: Situation) -> int:
        """Returns how many slots are missing; less than 0 if there are more than needed."""
        slots = self.config.slots
        starting = max(seen.size - len(seen.loads), 0)
        coming = sum(max(slots - load, 0) for load in seen.loads.values()) + starting * slots
        is_used = bool(seen.waiting) or any(seen.loads.values())
        return seen.waiting + (self.config.free if is_used else 0) - coming

    def _idle(self, seen: Situation, now: float, seconds: float) -> list[str]:
        """Returns the servers without a session for so long, the longest first."""
        self._idle_since = {
            name: self._idle_since.get(name, now) for name, load in seen.loads.items() if not load
        }
        idle = sorted(self._idle_since.items(), key=lambda each: each[1])
        return [name for name, since in idle if now - since >= seconds]

    @property
    def rests(self) -> bool:
        """Whether no server is idle, so that nothing happens without a further event."""
        return not self._idle_since
