"""Pending steps of an asyncio vector environment: sent to some shards, and received as they finish."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from envwire.client._vector.aio.async_shards import AsyncShard, all_of
from envwire.client._vector.shard_episodes import StepResult
from envwire.client._vector.shards import shards_of
from envwire.codec import Family


class PendingSteps:
    """The pending steps, at most one for each shard.

    Args:
        shards: All shards.
        batch_size: Number of environments that are received at once.
        family: The library whose errors are raised.

    Attributes:
        received: The shards that were received last.
    """

    def __init__(self, shards: Sequence[AsyncShard], batch_size: int, family: Family) -> None:
        self.received = list(shards)
        self._shards = shards
        count = sum(shard.size for shard in shards)
        self._batch_shards = len(shards) * batch_size // count if count else 1
        self._error = family.error
        self._steps: dict[AsyncShard, asyncio.Task[StepResult]] = {}

    def check_none(self, asked: str) -> None:
        """Checks that no step is pending.

        Raises:
            AlreadyPendingCallError: A step is pending.
        """
        if self._steps:
            error: Exception = self._error.AlreadyPendingCallError(
                f"{asked} was called while send is pending; receive what was sent first", asked
            )
            raise error

    def chosen(self, env_id: Any) -> list[AsyncShard]:
        """Returns the shards of some environments; by default those that were received last.

        Raises:
            ValueError: They are not the environments of whole shards.
            AlreadyPendingCallError: A step of one of them is pending.
        """
        chosen = self.received if env_id is None else shards_of(self._shards, env_id)
        if any(shard in self._steps for shard in chosen):
            self.check_none("send")
        return chosen

    def begin(self, shards: Sequence[AsyncShard], actions: Sequence[Any]) -> None:
        """Starts a step of some shards."""
        for shard, own in zip(shards, actions, strict=True):
            self._steps[shard] = asyncio.ensure_future(shard.step(own))

    async def first_finished(self) -> tuple[list[AsyncShard], list[StepResult]]:
        """Waits for a batch; returns its shards in order and the results of their steps.

        Raises:
            NoAsyncCallError: Fewer shards than a batch needs have a pending step.
        """
        if len(self._steps) < self._batch_shards:
            error: Exception = self._error.NoAsyncCallError(
                "recv was called while too few environments have anything to do; send actions first",
                "recv",
            )
            raise error
        while len(finished := self._finished()) < self._batch_shards:
            waiting = [task for task in self._steps.values() if not task.done()]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        shards = sorted(finished[: self._batch_shards], key=lambda shard: shard.spec.start)
        self.received = shards
        return shards, await all_of([self._steps.pop(shard) for shard in shards])

    def _finished(self) -> list[AsyncShard]:
        return [shard for shard, task in self._steps.items() if task.done()]

    async def end(self) -> None:
        """Cancels the pending steps."""
        tasks, self._steps = list(self._steps.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
