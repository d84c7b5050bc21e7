"""The remote vector environment of asyncio clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from envwire.client._drivers.turn import Turn
from envwire.client._env.viewer import HUMAN
from envwire.client._recovery.async_handle import AsyncSessionHandle
from envwire.client._recovery.strategies import SHARD_STRATEGIES
from envwire.client._session.attribute_operations import CallMethod, GetAttribute
from envwire.client._session.operations import Operation, Render, Reset, Step
from envwire.client._session.requests import WrapperLike, make_request, set_vector
from envwire.client._session.stats import ConnectionStats
from envwire.client._transports.servers import Targets
from envwire.client._transports.transport import Transport
from envwire.client._vector.batching.batches import Bounds, cutter
from envwire.client._vector.batching.gathering import Gatherer
from envwire.client._vector.batching.infos import Infos, join_infos
from envwire.client._vector.batching.resets import ResetOptions, cut_options, cut_seeds
from envwire.client._vector.env_info import vector_env_info
from envwire.client._vector.layout import ShardSpec
from envwire.client._vector.making import Fleet
from envwire.client._vector.shards import StepResult, drawn_seeds, reset_as_step
from envwire.client.credentials import Credentials
from envwire.client.errors import InvalidRequestError
from envwire.client.options import ConnectionOptions
from envwire.codec import envwire_family

if TYPE_CHECKING:
    from typing_extensions import Self


class AsyncShard:
    """The environments of one session.

    Args:
        spec: Which environments they are.
        handle: Whichever session holds them now.
    """

    def __init__(self, spec: ShardSpec, handle: AsyncSessionHandle) -> None:
        self.spec = spec
        self.handle = handle

    async def reset(self, seed: Any, options: ResetOptions) -> StepResult:
        """Resets the environments; all of them where they have to be made again."""
        is_new = self.handle.vacant
        if is_new:
            await self.handle.make()
        recording = self.handle.strategy.recording
        if recording is not None and not recording.rooted:
            seed = drawn_seeds(seed, self.spec.size)
        common, each = options.unmasked if is_new else options
        result, _ = await self.handle.serve(Reset(seed, common, member_options=each))
        return reset_as_step(result, self.spec.size)

    async def step(self, actions: Any) -> StepResult:
        """Steps the environments."""
        result: StepResult = (await self.handle.serve(Step(actions)))[0]
        return result


class AsyncRemoteVectorEnv:
    """Environments on servers, for programs with an event loop: the VectorEnv API, each call awaited.

    They behave as those of `envwire.client.RemoteVectorEnv`; sessions work at the same time. `reset()` after `close()`,
    or after a session was lost, makes what is missing again.

    Args:
        target: As for `envwire.client.RemoteVectorEnv`, as all that follow.
        env_id: Id of the environments.
        num_envs: How many.
        sessions: How many sessions.
        autoreset_mode: When an environment whose episode ended is reset.
        vectorization_mode: "sync" (the default), or "vector_entry_point".
        render_mode: Render mode, fixed from now on; not "human".
        wrappers: Wrappers to put around each on the server.
        transport: As for `envwire.client.aio.RemoteEnv`.
        library: Library to take the id from.
        timeout: Seconds to wait for an answer.
        connect_timeout: Seconds to wait for a server, also for one that is about to start. By default 10 for one that
            is silent, and none where nothing listens.
        credentials: Certificates and token.
        lease: Seconds that the environments outlive this program.
        on_lost: "raise" or "replay".
        replay_limit: How many requests of each session "replay" records at most.
        env_kwargs: Keyword arguments of the environments, for names that are taken here.
        kwargs: Further keyword arguments of the environments.

    Raises:
        ValueError: `on_lost` is "truncate".
    """

    _family = envwire_family()
    metadata: dict[str, Any]
    render_mode: str | None
    observation_space: Any
    action_space: Any
    single_observation_space: Any
    single_action_space: Any

    def __init__(
        self,
        target: Targets,
        env_id: str,
        num_envs: int = 1,
        *,
        sessions: int | None = None,
        autoreset_mode: Any = None,
        vectorization_mode: str | None = None,
        render_mode: str | None = None,
        wrappers: Iterable[WrapperLike] = (),
        transport: str | Transport | None = None,
        library: str | None = None,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        credentials: Credentials | None = None,
        lease: float | None = None,
        on_lost: str = "raise",
        replay_limit: int = 100_000,
        env_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if on_lost == "truncate":
            raise ValueError('on_lost="truncate" is not offered here; use "raise" or "replay"')
        if render_mode == HUMAN:
            raise InvalidRequestError("render_mode='human' shows one environment")
        options = ConnectionOptions(
            transport, timeout, connect_timeout, credentials, lease, on_lost, replay_limit
        )
        every = {**(env_kwargs or {}), **kwargs}
        request = make_request(env_id, render_mode, wrappers, library, self._family, lease, every)
        set_vector(request, vectorization_mode, autoreset_mode, self._family)
        self.num_envs = num_envs
        self._sessions = sessions
        self._label = f"{type(self).__name__}({env_id}, num_envs={num_envs})"
        self._fleet = Fleet(target, options, request, self._family)
        self._shards: list[AsyncShard] = []
        self._turn = Turn(self._family, self.__str__)

    @classmethod
    async def make(cls, target: Targets, env_id: str, num_envs: int = 1, **settings: Any) -> Self:
        """Makes the environments; for arguments and errors see the class."""
        envs = cls(target, env_id, num_envs, **settings)
        return await envs.__aenter__()

    async def _make(self) -> None:
        """Makes every session; closes those that were made when one cannot be."""
        fleet = self._fleet
        try:
            specs = await asyncio.to_thread(
                fleet.lay_out, self.num_envs, self._sessions, self.num_envs
            )
            self._shards = [AsyncShard(spec, self._handle(spec)) for spec in specs]
            made = await all_of([shard.handle.make() for shard in self._shards])
            targets = [shard.handle.target for shard in self._shards]
            info = vector_env_info(made, targets, self.num_envs, self._family)
        except BaseException:
            await self._close()
            self._shards = []
            raise
        finally:
            fleet.close()
        self.metadata, self.render_mode = info.metadata, info.render_mode
        self.observation_space, self.action_space = info.observation_space, info.action_space
        self.single_observation_space = info.single_observation_space
        self.single_action_space = info.single_action_space
        self._cut = cutter(self.single_action_space, self._family)
        self._gatherer = Gatherer(self.single_observation_space, self._family, join_infos)

    def _handle(self, spec: ShardSpec) -> AsyncSessionHandle:
        options = self._fleet.options
        strategy = SHARD_STRATEGIES[options.on_lost](options, self._fleet.render_mode, spec.size)
        label = f"{self._label}, environments {spec.start} to {spec.stop - 1}"
        return AsyncSessionHandle(self._fleet.maker(spec, watch=False), strategy, label)

    async def __aenter__(self) -> Self:
        with self._turn:
            if not self._shards:
                await self._make()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __str__(self) -> str:
        return self._label

    @property
    def _bounds(self) -> Bounds:
        return [(shard.spec.start, shard.spec.stop) for shard in self._shards]

    @property
    def connection_stats(self) -> ConnectionStats:
        """What sessions and connections went through so far."""
        every = [shard.handle.stats for shard in self._shards]
        return ConnectionStats(*map(sum, zip(*every, strict=True)))

    async def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | Sequence[dict[str, Any] | None] | None = None,
    ) -> tuple[Any, Infos]:
        """Starts an episode in every environment, or in those that a mask chooses (see `RemoteVectorEnv.reset`)."""
        with self._turn:
            seeds = cut_seeds(seed, self.num_envs, self._bounds)
            told = cut_options(options, self.num_envs, self._bounds)
            parts = zip(self._shards, seeds, told, strict=True)
            results = await all_of([shard.reset(own, each) for shard, own, each in parts])
        observations, *_, infos = self._joined(results)
        return observations, infos

    async def step(self, actions: Any) -> StepResult:
        """Steps every environment (see `VectorEnv.step`)."""
        with self._turn:
            own = self._cut(actions, self.num_envs, self._bounds)
            parts = zip(self._shards, own, strict=True)
            return self._joined(await all_of([shard.step(each) for shard, each in parts]))

    def _joined(self, results: Sequence[StepResult]) -> StepResult:
        return self._gatherer.joined([shard.spec.size for shard in self._shards], results)

    async def render(self) -> tuple[Any, ...]:
        """Returns a tuple with a frame of each environment."""
        with self._turn:
            frames = await all_of([shard.handle.serve(Render()) for shard in self._shards])
        return tuple(frame for each in frames for frame in each)

    async def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of each environment, or reads an attribute; returns a tuple with one result of each."""
        called = partial(_called, name, args, kwargs)
        with self._turn:
            results = await all_of([called(shard.handle) for shard in self._shards])
        return tuple(one for each in results for one in each)

    async def close(self) -> None:
        """Closes the environments on the servers and the connections to them. Closing twice is harmless."""
        await self._turn.come()
        with self._turn:
            await self._close()

    async def _close(self) -> None:
        await all_of([shard.handle.close() for shard in self._shards])


async def all_of(calls: Sequence[Any]) -> list[Any]:
    """Awaits calls at the same time, all of them whatever one raises, and returns their results.

    Raises:
        Exception: The first of what they raised.
    """
    if len(calls) == 1:
        return [await calls[0]]
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return list(results)


async def _called(
    name: str, args: Sequence[Any], kwargs: Mapping[str, Any], handle: AsyncSessionHandle
) -> Any:
    value, method = await handle.serve(GetAttribute(name))
    call: Operation[Any] = CallMethod(name, args, kwargs)
    return await handle.serve(call) if method else value
