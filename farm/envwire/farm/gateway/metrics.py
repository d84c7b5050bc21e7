"""Prometheus metrics of a farm, as its gateway sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from envwire.codec.messages import state_name
from envwire.farm.gateway.allocation.allocating import Allocator
from envwire.farm.gateway.groups.group import GroupState
from envwire.farm.gateway.groups.groups import Groups
from envwire.farm.gateway.makes.make_queue import MakeQueue
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member, State
from envwire.server._front.counters import Tally, counter, gauge, gauges, makes, version


@dataclass(eq=False)
class GatewayMetrics(Collector):
    """Metrics of one gateway. Slots of dead servers are not counted.

    Args:
        registry: The servers.
        tally: Counts of the Makes that passed through the gateway.
        allocator: Counts of the slots that were allocated.
        queue: The Makes that wait for a slot.
        clock: Monotonic time, in seconds.
        groups: The groups of servers that start on demand.
    """

    _registry: Registry
    _tally: Tally
    _allocator: Allocator
    _queue: MakeQueue
    _clock: Callable[[], float]
    _groups: Groups

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics, computed at each scrape."""
        now = self._clock()
        self._registry.advance(now)
        servers = [(each, each.state(now)) for each in self._registry]
        alive = [server for server, state in servers if state != State.STATE_DEAD]
        free = [each for each, state in servers if state == State.STATE_FREE]
        yield version()
        yield gauges("farm_servers", "Servers by state.", "state", _by_state(s for _, s in servers))
        yield gauge(
            "farm_slots", "Sessions that servers can hold.", sum(each.capacity for each in alive)
        )
        yield gauge("farm_slots_used", "Slots that are taken.", sum(each.load for each in alive))
        yield gauge(
            "farm_slots_free",
            "Free slots of servers that take Makes.",
            sum(each.capacity - each.load for each in free),
        )
        yield from self._totals(alive)
        yield gauge("makes_waiting", "Makes that wait for a free slot.", len(self._queue))
        text = "Slots that were allocated, for Makes with a ticket at the servers."
        yield counter("slots_allocated", text, self._allocator.allocated)
        yield counter(
            "allocations_refused", "Allocations that were refused.", self._allocator.refused
        )
        yield from makes(self._tally)
        if self._groups:
            yield from self._of_groups(now)

    def _of_groups(self, now: float) -> Iterator[Metric]:
        self._groups.refresh(now)
        told = {each.name: each.status(now) for each in self._groups}
        for name, text, field in _OF_GROUPS:
            values = {group: float(getattr(each, field)) for group, each in told.items()}
            yield gauges(f"group_{name}", text, "group", values)
        failing = GroupState.STATE_FAILING
        values = {group: float(each.state == failing) for group, each in told.items()}
        yield gauges("group_failing", "Whether a group's servers do not start.", "group", values)

    def _totals(self, alive: list[Member]) -> Iterator[Metric]:
        """Yields what the servers' environments did since the gateway started, and the memory that they hold."""
        totals = self._registry.totals
        yield counter("farm_steps", "Steps that environments took.", totals.steps)
        yield counter("farm_episodes", "Episodes that ended.", totals.episodes)
        text = "Sessions whose process died, or was killed because it hung."
        yield counter("farm_sessions_lost", text, totals.losses)
        text = "Processor time of the environments' processes."
        yield counter("farm_cpu_seconds", text, totals.cpu_milliseconds / 1000)
        held = sum(each.totals.memory_bytes for each in alive if each.totals)
        yield gauge("farm_memory_bytes", "Memory of the environments' processes.", held)


_OF_GROUPS = (
    ("servers", "Servers of a group.", "servers"),
    ("servers_starting", "Servers of a group that are starting.", "starting_servers"),
    ("slots_used", "Slots of a group that are taken.", "active_sessions"),
    ("makes_waiting", "Makes that wait for a group.", "waiting"),
)


def _by_state(states: Iterator[State.ValueType]) -> dict[str, int]:
    """Returns the number of servers in each state, zeros included."""
    found = Counter(states)
    return {
        state_name(name): found[state]
        for name, state in State.items()
        if state != State.STATE_UNSPECIFIED
    }
