"""Pools of equal servers, each with its least busy server first. No I/O.

A Make must not look at every server: with 1,000 of them that took 4.7 ms. Farms have few kinds of servers, so servers
that differ only in their load form a pool, and each pool has a heap.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator
from itertools import count
from typing import NamedTuple

from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.states import Member


class _Entry(NamedTuple):
    """A server in a heap, ordered by the fields.

    Attributes:
        taken: Fraction of its slots that is taken.
        turn: Number of the last Make that it received.
        number: Unique number of the entry, which breaks ties.
        member: The server.
    """

    taken: float
    turn: int
    number: int
    member: Member


class _Pool:
    """Servers with the same environments, labels and fingerprint.

    Args:
        sample: One of them.
        numbers: Numbers of entries, shared by all pools of a farm so that entries of two can be compared.
    """

    def __init__(self, sample: Member, numbers: Iterator[int]) -> None:
        self.sample = sample
        self._heap: list[_Entry] = []
        self._current: dict[Member, _Entry] = {}  # other entries of the heap are outdated
        self._numbers = numbers

    @property
    def members(self) -> Collection[Member]:
        """The servers that have room."""
        return self._current

    def update(self, member: Member) -> None:
        """Enters a server at its current load, or removes it if it has no room."""
        if not member.has_room:
            self._current.pop(member, None)
            return
        taken, before = member.load / member.capacity, self._current.get(member)
        if before is not None and (before.taken, before.turn) == (taken, member.turn):
            return
        entry = self._current[member] = _Entry(taken, member.turn, next(self._numbers), member)
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._current) + 64:
            self._heap = list(self._current.values())
            heapq.heapify(self._heap)

    def remove(self, member: Member) -> None:
        self._current.pop(member, None)

    def first(self, matches: Callable[[Member], bool]) -> _Entry | None:
        """Returns the entry of the least busy server that matches."""
        passed_over: list[_Entry] = []
        found = None
        while self._heap and found is None:
            entry = self._heap[0]
            if self._current.get(entry.member) is not entry:
                heapq.heappop(self._heap)
            elif matches(entry.member):
                found = entry
            else:
                passed_over.append(heapq.heappop(self._heap))
        for entry in passed_over:
            heapq.heappush(self._heap, entry)
        return found


class Pools:
    """All servers of a farm, in pools; call `update` after each change of a server."""

    def __init__(self) -> None:
        self._numbers = count()
        self._pools: dict[object, _Pool] = {}
        self._pool_of: dict[Member, _Pool] = {}
        self._sizes: dict[_Pool, int] = {}

    def add(self, member: Member) -> None:
        """Adds a server."""
        pool = self._pools.setdefault(member.kind, _Pool(member, self._numbers))
        self._pool_of[member] = pool
        self._sizes[pool] = self._sizes.get(pool, 0) + 1
        pool.update(member)

    def update(self, member: Member) -> None:
        """Updates the position of a server that changed; a removed server is ignored."""
        pool = self._pool_of.get(member)
        if pool is not None:
            pool.update(member)

    def remove(self, member: Member) -> None:
        """Removes a server, if it is present."""
        pool = self._pool_of.pop(member, None)
        if pool is None:
            return
        pool.remove(member)
        self._sizes[pool] -= 1
        if not self._sizes[pool]:
            del self._sizes[pool], self._pools[pool.sample.kind]

    def matching(self, requirements: Requirements) -> Iterator[Member]:
        """Yields the servers with room that offer the wanted environment and have the labels."""
        for pool in self._pools.values():
            if requirements.matches(pool.sample):
                yield from pool.members

    def choose(
        self,
        requirements: Requirements,
        takes: Callable[[Member], bool],
        exclude: Collection[Member] = (),
    ) -> Member | None:
        """Returns the least busy server for a Make, preferably one with the wanted fingerprint.

        Args:
            requirements: Requirements of the Make.
            takes: Returns whether a server accepts Makes.
            exclude: Servers to exclude.
        """
        matching = [each for each in self._pools.values() if requirements.matches(each.sample)]
        preferred = [each for each in matching if requirements.is_preferred(each.sample)]
        for pools in (preferred, matching):
            found = (each.first(lambda one: one not in exclude and takes(one)) for each in pools)
            best = min(filter(None, found), default=None)
            if best is not None:
                return best.member
        return None
