"""What sessions return, waited for and put together as the batch of one vector environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from envwire.client._drivers.concurrently import outcomes
from envwire.client._vector.batches import Merge, Room, merger, row_bytes
from envwire.client._vector.infos import Infos
from envwire.client._vector.shards import Seat, StepResult
from envwire.codec import Family
from envwire.wire.frames import ATTACHED_FROM

#: Seats differ in how they do it.
_FINISH: Callable[[Seat], StepResult] = methodcaller("finish")
#: Puts infos together: how many environments each session has, and the infos of each.
JoinInfos = Callable[[Sequence[int], Sequence[Infos]], Any]


class Gatherer:
    """Waits for sessions.

    Args:
        space: The space of one environment's observations.
        family: Its library.
        join_infos: The rule for infos.
    """

    def __init__(self, space: Any, family: Family, join_infos: JoinInfos) -> None:
        self._space = space
        self._merge = merger(space, family)
        self._row_bytes = row_bytes(space, family)
        self._join_infos = join_infos

    def gather(self, seats: Sequence[Seat]) -> StepResult:
        """Waits for seats, all of them whatever one answers, and returns their batch.

        Raises:
            Exception: The first of what they raised.
        """
        sizes = [seat.share.size for seat in seats]
        merge = self._merge_in_place(seats, sizes)
        results, failures = outcomes(_FINISH, seats)
        if failures:
            raise failures[0]
        return self._joined(sizes, results, merge)

    def _merge_in_place(self, seats: Sequence[Seat], sizes: Sequence[int]) -> Merge:
        """Returns the rule for observations; large ones are received where they stay."""
        if len(sizes) == 1 or self._row_bytes * min(sizes) < ATTACHED_FROM:
            return self._merge
        room = Room(self._space, sizes)
        for seat, place in zip(seats, room.places, strict=True):
            seat.offer(place)
        return room.merged

    def _joined(
        self, sizes: Sequence[int], results: Sequence[StepResult], merge: Merge
    ) -> StepResult:
        if len(results) == 1:
            only = results[0]
            return (*only[:4], self._join_infos(sizes, [only[4]]))
        observations, rewards, terminations, truncations, infos = zip(*results, strict=True)
        return (
            merge(observations),
            np.concatenate(rewards),
            np.concatenate(terminations),
            np.concatenate(truncations),
            self._join_infos(sizes, infos),
        )
