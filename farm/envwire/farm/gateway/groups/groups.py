"""The groups of one gateway: which of them serves an id, and what waits for it. No I/O; callers pass the time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.groups.group import Group
from envwire.farm.gateway.groups.group_config import GROUP_LABEL, GroupConfig
from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.server._grammar import did_you_mean
from envwire.v1 import environment_pb2 as pb

#: Number of ids whose group is remembered: clients choose them.
_REMEMBERED = 10_000


class Groups:
    """The groups of one gateway.

    Args:
        configs: Their settings, by name.
        registry: The servers of the farm.

    Attributes:
        on_want: Called when something begins to wait for a group.
        on_change: Called when waiting Makes may have nothing to wait for any more.
    """

    def __init__(self, configs: Mapping[str, GroupConfig], registry: Registry) -> None:
        self._groups = {name: Group(config) for name, config in sorted(configs.items())}
        self._registry = registry
        #: The groups that may have or need servers. Looking at all of a thousand took 1 % of a processor.
        self._awake = {group for group in self if group.is_active}
        self._by_id: dict[str, Group | None] = {
            env_id: group for group in self for env_id in group.config.ids
        }
        self.on_want: Callable[[], None] = lambda: None
        self.on_change: Callable[[], None] = lambda: None

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def __len__(self) -> int:
        return len(self._groups)

    def named(self, name: str) -> Group:
        """Returns a group.

        Raises:
            FaultError: MALFORMED_REQUEST: there is none of that name.
        """
        if name not in self._groups:
            known = did_you_mean(name, self._groups, "`envwire farm groups` lists them")
            raise FaultError(Reason.MALFORMED_REQUEST, f"this farm has no group {name!r}; {known}")
        return self._groups[name]

    def serving(self, requirements: Requirements) -> Group | None:
        """Returns the group whose servers have an environment; None if none has."""
        env_id = requirements.env_id
        if env_id not in self._by_id:
            if len(self._by_id) > _REMEMBERED:
                self._by_id = {key: group for key, group in self._by_id.items() if group}
            self._by_id[env_id] = next((each for each in self if each.serves(env_id)), None)
        return self._by_id[env_id]

    @contextmanager
    def waiting(self, requirements: Requirements, count: int = 1) -> Generator[None]:
        """Counts Makes, or slots, that wait for a group, which gets servers for them."""
        group = self.serving(requirements)
        if group is None:
            yield
            return
        group.waiting += count
        self.wake(group)
        try:
            yield
        finally:
            group.waiting -= count

    def wake(self, group: Group) -> None:
        """Has a group looked after: something was asked of it."""
        self._awake.add(group)
        self.on_want()

    def found(self, names: Iterable[str]) -> list[Group]:
        """Has groups looked after of which servers were found, and returns them; others are of no group here."""
        groups = [self._groups[name] for name in names if name in self._groups]
        self._awake.update(groups)
        return groups

    def refresh(self, now: float) -> list[Group]:
        """Sorts the servers into their groups; returns the groups that somebody must look after."""
        members = defaultdict[str, list[Member]](list)
        for each in self._registry.members:
            if name := each.hello.labels.get(GROUP_LABEL):
                members[name].append(each)
        self.found(members)
        for group in self._awake:
            group.refresh(members[group.name], now)
        self._awake = {each for each in self._awake if each.is_active}
        return sorted(self._awake, key=lambda each: each.name)

    @property
    def slots_to_come(self) -> int:
        """Number of slots that servers would have which were not started."""
        return sum(each.slots_to_come for each in self)

    def listings(self) -> list[pb.EnvironmentListing]:
        """Returns the environments of all groups, whether they run or not."""
        return [each for group in self for each in group.listed]
