"""The shards of an asyncio vector environment, and their pending steps: sent to some, and received as they finish."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from envwire.client._recovery.async_handle import AsyncSessionHandle
from envwire.client._session.operations import Operation, Step
from envwire.client._vector.batches import ResetOptions
from envwire.client._vector.shards import BaseShard, StepResult, shards_of, too_few
from envwire.client.errors import RemoteError
from envwire.codec import Family

_T = TypeVar("_T")


class AsyncShard(BaseShard[AsyncSessionHandle]):
    """The environments of one session; for its arguments and attributes see `BaseShard`."""

    handle_class = AsyncSessionHandle

    async def reset(self, seed: Any, options: ResetOptions) -> StepResult:
        """Resets the environments; resets all of them if they have to be made again."""
        if self.handle.vacant:
            await self.handle.make_new()
        return await self._serve(self.episodes.reset(seed, options))

    async def step(self, actions: Any) -> StepResult:
        """Steps the environments."""
        if self.handle.driver is None:
            return await self._serve(await self.episodes.restart())
        return await self._serve(Step(actions))

    async def _serve(self, operation: Operation[Any]) -> StepResult:
        try:
            return self.episodes.answered(operation, await self.handle.serve_once(operation))
        except RemoteError as error:
            if not self.handle.is_loss(error):
                raise
            loss = error
        return await self.episodes.recovered(operation, loss)


async def all_of(calls: Sequence[Awaitable[_T]]) -> list[_T]:
    """Awaits all calls at the same time, even if some raise, and returns their results.

    Raises:
        Exception: The first exception of the calls.
    """
    if len(calls) == 1:
        return [await calls[0]]
    results: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


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
        self._family = family
        self._steps: dict[AsyncShard, asyncio.Task[StepResult]] = {}

    def check_none(self, asked: str) -> None:
        """Checks that no step is pending.

        Raises:
            AlreadyPendingCallError: A step is pending.
        """
        if self._steps:
            error: Exception = self._family.error.AlreadyPendingCallError(
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
            raise too_few(self._family)
        while len(finished := self._finished()) < self._batch_shards:
            waiting = [task for task in self._steps.values() if not task.done()]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        shards = sorted(finished[: self._batch_shards], key=lambda shard: shard.spec.start)
        self.received = shards
        # Nothing is awaited from here on, so that a call which is cancelled loses no results.
        tasks = [self._steps.pop(shard) for shard in shards]
        for failure in [task.exception() for task in tasks]:
            if failure is not None:
                raise failure
        return shards, [task.result() for task in tasks]

    def _finished(self) -> list[AsyncShard]:
        return [shard for shard, task in self._steps.items() if task.done()]

    async def end(self) -> None:
        """Cancels the pending steps."""
        tasks, self._steps = list(self._steps.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
