"""A group of a farm as its gateway runs it: its state, its servers, and what it says to Makes that wait. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from envwire.codec.messages import to_duration
from envwire.farm.gateway.groups.demand import Demand, Situation, Target
from envwire.farm.gateway.groups.failures import BackOff, Failure
from envwire.farm.gateway.groups.group_config import INSTANCE_LABEL, GroupConfig
from envwire.farm.gateway.registry.states import Member, State
from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._grammar import counted
from envwire.v1 import environment_pb2, specs_pb2

GroupState = pb.GroupStatus.State
#: States of servers whose slots count.
_USABLE = frozenset({State.STATE_FREE, State.STATE_BUSY})


@dataclass(eq=False)
class Group:
    """One group.

    Args:
        config: Its settings.

    Attributes:
        demand: How many servers it should have.
        back_off: Its failures.
        running: Names of the servers that its engine runs, without stopping ones.
        doing: What its engine is doing for it, such as "installing packages", or what its servers lack; empty for
            nothing in particular.
        waiting: Number of Makes and slots that wait for it.
        paused: Whether an operator paused it.
        listed: The environments that its servers list: as declared until one has registered.
        starting_since: When its first server was ordered, while it has none; None at other times.
    """

    config: GroupConfig
    back_off: BackOff = field(default_factory=BackOff)
    running: frozenset[str] = frozenset()
    doing: str = ""
    waiting: int = 0
    paused: bool = False
    starting_since: float | None = None

    def __post_init__(self) -> None:
        self.demand = Demand(self.config)
        self._members: list[Member] = []
        self._since: dict[str, float] = {}
        self._registered: set[str] = set()
        name = self.config.name
        self.listed = [
            environment_pb2.EnvironmentListing(group=name, spec=specs_pb2.EnvSpec(id=env_id))
            for env_id in sorted(self.config.ids)
        ]

    @property
    def name(self) -> str:
        """Its name."""
        return self.config.name

    @property
    def is_active(self) -> bool:
        """Whether it has or needs servers, so that somebody must look after it."""
        needed = self.waiting or self.demand.least
        return bool(needed or self.running or self._members or self.doing)

    @property
    def slots_to_come(self) -> int:
        """Number of slots of servers that it may still start."""
        more = 0 if self.paused else self.config.max - len(self._members)
        return max(more, 0) * self.config.slots

    def serves(self, env_id: str) -> bool:
        """Returns whether its servers have an id, as far as that is known."""
        return self.config.declares(env_id) or any(each.spec.id == env_id for each in self.listed)

    def observe(self, running: frozenset[str], doing: str, now: float, lacking: str = "") -> None:
        """Takes over what its engine says.

        Args:
            running: Names of the servers that it runs.
            doing: What is done before they run; empty for nothing. Their time to start begins afterwards.
            now: Monotonic time, in seconds.
            lacking: What they lack; empty for nothing.
        """
        self.running, self.doing = running, doing or lacking
        self._registered &= running
        self._since = {
            name: now if doing else self._since.get(name, now)
            for name in running - self._registered
        }

    def overdue(self, now: float) -> list[str]:
        """Returns the servers that have run for long and did not register."""
        latest = now - self.config.start_timeout
        return [name for name, since in self._since.items() if since < latest]

    def _lost(self) -> list[str]:
        """Returns the servers that run, as their engine says, and were found dead."""
        return sorted(self._registered & self.running - self._instances)

    @property
    def _instances(self) -> set[str]:
        return {each.hello.labels[INSTANCE_LABEL] for each in self._members}

    def refresh(self, members: Iterable[Member], now: float) -> None:
        """Takes over the group's servers, as they registered."""
        self._members = [each for each in members if not each.dead]
        self._registered |= self._instances & self.running
        usable = [each for each in self._members if each.state(now) in _USABLE]
        for each in usable[:1]:
            self.listed = list(each.hello.environments)
        self.back_off.serves(now, serves=bool(usable))
        if usable:
            self.starting_since = None
        elif self.running and self.starting_since is None:
            self.starting_since = now
        elif not self.running:
            self.starting_since = None

    def target(self, now: float) -> Target:
        """Returns how many servers it should have, and which of those that run stop."""
        useless = [*self._lost(), *self.overdue(now)]
        loads = {
            each.hello.labels[INSTANCE_LABEL]: each.load
            for each in self._members
            if each.state(now) in _USABLE and each.hello.labels[INSTANCE_LABEL] in self.running
        }
        seen = Situation(loads, len(self.running) - len(useless), self.waiting)
        servers, stop = self.demand.target(seen, now, paused=self.paused)
        if self.back_off.waits(now):
            servers = min(servers, seen.size)
        return Target(servers, [*useless, *stop])

    def leave(self, names: Iterable[str], *, leaving: bool = True) -> None:
        """Sends no more Makes to servers that are about to stop."""
        names = frozenset(names)
        for each in self._members:
            if each.hello.labels[INSTANCE_LABEL] in names:
                each.leaving = leaving

    def failed(self, failure: Failure, now: float) -> bool:
        """Records that a server did not start, or ended by itself; returns whether a pause begins."""
        return self.back_off.failed(failure, now)

    def wait(self, now: float) -> float:
        """Returns how many seconds a Make may wait for it; 0 if there is nothing to wait for."""
        hopeless = self.paused or self.back_off.fails(now)
        return 0.0 if hopeless and not self._members else self.config.wait

    def why(self, now: float) -> str:
        """Returns why it has no slot for a Make."""
        return f"group {self.name!r}: {self._why(now)}"

    def _why(self, now: float) -> str:
        last = self.back_off.last
        if self.paused:
            return "the operator paused it"
        if self._members:
            slots = counted(self.config.slots * len(self._members), "slot")
            limit = f"max is {self.config.max}"
            return f"all {slots} of its {counted(len(self._members), 'server')} are taken; {limit}"
        if last is not None and self.back_off.waits(now):
            return f"its servers do not start ({last}); the next attempt is in {self.back_off.due - now:.0f} s"
        since = f", {now - self.starting_since:.0f} s so far" if self.starting_since else ""
        failed = f"; the last attempt failed ({last})" if last is not None else ""
        return f"its first server is starting{self._shown_doing}{since}{failed}"

    @property
    def _shown_doing(self) -> str:
        return f" ({self.doing})" if self.doing else ""

    def state(self, now: float) -> GroupState.ValueType:
        """Returns its state."""
        if self.paused:
            return GroupState.STATE_PAUSED
        if self._members:
            return GroupState.STATE_SERVING
        if self.back_off.waits(now):
            return GroupState.STATE_FAILING
        return GroupState.STATE_STARTING if self.running else GroupState.STATE_STOPPED

    def status(self, now: float) -> pb.GroupStatus:
        """Describes it for operators."""
        status = pb.GroupStatus(
            name=self.name,
            state=self.state(now),
            engine=self.config.engine,
            environments=self.config.server.environments,
            servers=len(self._members),
            starting_servers=len(self.running - self._instances),
            min_servers=self.demand.least,
            max_servers=self.config.max,
            active_sessions=sum(each.load for each in self._members),
            waiting=self.waiting,
            doing=self.doing,
        )
        if self.back_off.last is not None:
            status.last_error = str(self.back_off.last)
            status.last_error_age.CopyFrom(to_duration(now - self.back_off.at))
        return status
