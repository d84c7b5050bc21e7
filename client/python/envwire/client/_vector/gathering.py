"""Waits for shards, all or the first that finish, and joins their results into one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from envwire.client._drivers.coroutines import at_once
from envwire.client._transports.direct.array_memory import Recycled
from envwire.client._transports.portability import POLLIN, new_poll
from envwire.client._vector.batches import BatchBuffer, Merge, merger, row_bytes
from envwire.client._vector.infos import Infos
from envwire.client._vector.shards import Shard, StepResult
from envwire.client.errors import RemoteError
from envwire.codec import Family
from envwire.wire.frames import ATTACHED_FROM

#: Joins infos, given the number of environments of each session and the infos of each.
JoinInfos = Callable[[Sequence[int], Sequence[Infos]], Any]


class Gatherer:
    """Waits for shards and joins their results.

    Args:
        space: The space of one environment's observations.
        family: The library of the space.
        join_infos: Joins the infos of sessions.
    """

    def __init__(self, space: Any, family: Family, join_infos: JoinInfos) -> None:
        self._space = space
        self._merge = merger(space, family)
        self._row_bytes = row_bytes(space, family)
        self._recycled = Recycled()
        self._join_infos = join_infos

    def gather(self, shards: Sequence[Shard]) -> StepResult:
        """Waits for all shards, even if some fail, and returns their batch.

        Raises:
            Exception: The first exception of the shards.
        """
        sizes = [shard.size for shard in shards]
        if len(shards) == 1:
            # There is nothing to wait for beside it: this saves 4 us of a step.
            return self.joined(sizes, [_recovered((shards[0], _finished(shards[0])))])
        merge = self._merge_in_place(shards, sizes)
        here = [shard.await_reply() for shard in shards]
        # Reconnecting and recovering take long, so they run in parallel.
        answers = list(map(_finished, shards)) if all(here) else at_once(_finished, shards)
        results = [answer for answer in answers if not isinstance(answer, Exception)]
        if len(results) < len(shards):
            results = at_once(_recovered, list(zip(shards, answers, strict=True)))
        return self.joined(sizes, results, merge)

    def _merge_in_place(self, shards: Sequence[Shard], sizes: Sequence[int]) -> Merge:
        """Returns the function that joins the observations; large batches are received in one buffer."""
        if self._row_bytes * min(sizes) < ATTACHED_FROM:
            return self._merge
        batch = BatchBuffer(self._space, sizes, self._recycled)
        for shard, buffer in zip(shards, batch.buffers, strict=True):
            shard.set_buffer(buffer)
        return batch.merged

    def joined(
        self, sizes: Sequence[int], results: Sequence[StepResult], merge: Merge | None = None
    ) -> StepResult:
        """Joins results.

        Args:
            sizes: Number of environments of each result.
            results: The results.
            merge: Joins the observations; by default the function for the space.
        """
        if len(results) == 1:
            only = results[0]
            return (*only[:4], self._join_infos(sizes, [only[4]]))
        observations, rewards, terminations, truncations, infos = zip(*results, strict=True)
        return (
            (merge or self._merge)(observations),
            np.concatenate(rewards),
            np.concatenate(terminations),
            np.concatenate(truncations),
            self._join_infos(sizes, infos),
        )


def first_finished(sent: Sequence[Shard], count: int) -> list[Shard]:
    """Returns the first shards whose answers have arrived, in the order of their environments.

    A shard without a descriptor to poll counts as finished; such shards are taken in the order of sending.

    Args:
        sent: The shards with an unanswered request, the earliest first.
        count: Number of shards to wait for.
    """
    # Asked once: an answer may arrive between two questions.
    descriptors = [shard.fileno() for shard in sent]
    both = list(zip(descriptors, sent, strict=True))
    finished = [shard for descriptor, shard in both if descriptor < 0][:count]
    waiting = {descriptor: shard for descriptor, shard in both if descriptor >= 0}
    poll = new_poll()
    for descriptor in waiting:
        poll.register(descriptor, POLLIN)
    while len(finished) < count:
        # Of the shards that are ready, the earliest is taken first, so that none is left waiting.
        timeout = min(shard.timeout for shard in waiting.values())
        ready = {descriptor for descriptor, _ in poll.poll(timeout * 1000)} or set(waiting)
        for descriptor in [each for each in waiting if each in ready][: count - len(finished)]:
            poll.unregister(descriptor)
            finished.append(waiting.pop(descriptor))
    return sorted(finished, key=lambda shard: shard.spec.start)


def _finished(shard: Shard) -> StepResult | Exception:
    """Returns the result of a shard, or its exception, so that the other shards are finished as well."""
    try:
        return shard.finish()
    except Exception as error:
        return error


def _recovered(answered: tuple[Shard, StepResult | Exception]) -> StepResult:
    """Returns the answer of a shard, after recovering the shard if the answer is a loss.

    Raises:
        Exception: The answer, or that of the recovery.
    """
    shard, answer = answered
    if not isinstance(answer, Exception):
        return answer
    if isinstance(answer, RemoteError) and shard.handle.is_loss(answer):
        return shard.recover(answer)
    raise answer
