"""A shard of an asyncio vector environment: the environments that share a session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from envwire.client._recovery.async_handle import AsyncSessionHandle
from envwire.client._session.attributes import CallMethod, GetAttribute
from envwire.client._session.operations import Operation, Step
from envwire.client._vector.batching.batches import ResetOptions
from envwire.client._vector.shard_episodes import StepResult
from envwire.client._vector.shards import BaseShard
from envwire.client.errors import RemoteError

_T = TypeVar("_T")


class AsyncShard(BaseShard[AsyncSessionHandle]):
    """The environments of one session; for its arguments and attributes see `BaseShard`."""

    handle_class = AsyncSessionHandle

    async def reset(self, seed: Any, options: ResetOptions) -> StepResult:
        """Resets the environments; resets all of them if they have to be made again."""
        if self.handle.vacant:
            await self.handle.make()
        return await self._serve(self.episodes.reset(seed, options))

    async def step(self, actions: Any) -> StepResult:
        """Steps the environments."""
        if self.handle.driver is None:
            return await self._serve(await self.handle.run(self.episodes.restart()))
        return await self._serve(Step(actions))

    async def _serve(self, operation: Operation[Any]) -> StepResult:
        try:
            result = await self.handle.serve_once(operation)
        except RemoteError as error:
            if not self.handle.is_loss(error):
                raise
            loss = error
        else:
            return self.episodes.answered(operation, result)
        return await self.handle.run(self.episodes.recovered(operation, loss))

    async def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls a method of each environment, or reads an attribute."""
        value, method = await self.handle.serve(GetAttribute(name))
        return await self.handle.serve(CallMethod(name, args, kwargs)) if method else value


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
