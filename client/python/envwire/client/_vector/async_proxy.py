"""The remote vector environment of asyncio clients."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from envwire.client._env.call_guard import CallGuard
from envwire.client._errors import not_live
from envwire.client._session.attribute_operations import SetAttribute
from envwire.client._session.operations import Render
from envwire.client._session.requests import (
    Differences,
    WrapperLike,
    make_request,
    merged,
    set_vector,
)
from envwire.client._transports.servers import Targets
from envwire.client._transports.transport import Transport
from envwire.client._vector.async_shards import AsyncShard, PendingSteps, all_of
from envwire.client._vector.batches import cut_options, cut_seeds
from envwire.client._vector.env_info import NATIVE, VectorAttributes
from envwire.client._vector.infos import Infos
from envwire.client._vector.members import call_each, cut_values, joined
from envwire.client._vector.shards import StepResult, compact_bounds, env_ids
from envwire.client._vector.vector_servers import VectorServers, most_per_session
from envwire.client.credentials import Credentials
from envwire.client.errors import RemoteError
from envwire.client.options import ConnectionOptions
from envwire.codec import envwire_family
from envwire.v1 import environment_pb2 as pb

if TYPE_CHECKING:
    from typing_extensions import Self

_T = TypeVar("_T")


class AsyncRemoteVectorEnv(VectorAttributes[AsyncShard]):
    """Environments on servers, for asyncio programs: the VectorEnv API, with coroutines as methods.

    They behave like those of `envwire.client.RemoteVectorEnv`; sessions work at the same time. `reset()` after
    `close()`, or after a session was lost, makes the missing environments again.

    Args:
        target: As for `envwire.client.RemoteVectorEnv`, like all the following arguments.
        env_id: Id of the environments.
        num_envs: Number of environments.
        sessions: Number of sessions.
        batch_size: Number of environments that `recv` waits for; by default all.
        autoreset_mode: When an environment whose episode ended is reset.
        vectorization_mode: "sync" (the default), or "vector_entry_point".
        render_mode: Render mode for the life of the proxy; not "human".
        wrappers: Wrappers to apply to each on the server.
        transport: As for `envwire.client.aio.RemoteEnv`.
        library: Library of the id.
        timeout: Seconds to wait for an answer.
        connect_timeout: Seconds to wait for a server, even one that has not started yet. By default 10 for a server
            that does not answer, and none if connections are refused.
        credentials: Certificates and token.
        lease: Seconds that the environments outlive this program.
        on_lost: "raise", "truncate" or "replay".
        replay_limit: Most requests per session that "replay" records since the last reset with seeds.
        device: As for `envwire.client.RemoteEnv`, as are the next two.
        arrays: The library of the arrays on the device.
        copy: Whether arrays are copied there.
        liveness: As for `envwire.client.RemoteEnv`.
        compression: As for `envwire.client.RemoteEnv`.
        direct_port: As for `envwire.client.RemoteEnv`.
        observation_mode: "same", or "different" if the observation spaces differ in their bounds; as for
            `SyncVectorEnv`.
        member_kwargs: Further keyword arguments of each environment: one mapping for each, in order.
        env_kwargs: Keyword arguments of the environments whose names are parameters of this constructor.
        kwargs: Further keyword arguments of the environments.
    """

    _family = envwire_family()

    def __init__(
        self,
        /,
        target: Targets,
        env_id: str,
        num_envs: int = 1,
        *,
        sessions: int | None = None,
        batch_size: int | None = None,
        autoreset_mode: Any = None,
        vectorization_mode: str | None = None,
        observation_mode: str = "same",
        member_kwargs: Sequence[Mapping[str, Any]] | None = None,
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
        device: str | None = None,
        arrays: str | None = None,
        copy: bool = True,
        liveness: float | None = None,
        compression: str = "auto",
        direct_port: int | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        options = ConnectionOptions.among(locals())
        every = merged(env_kwargs, kwargs)
        request = make_request(env_id, render_mode, wrappers, library, self._family, lease, every)
        set_vector(request, vectorization_mode, autoreset_mode, self._family)
        differences = Differences(member_kwargs, observation_mode)
        differences.write(request.vector, num_envs)
        self.num_envs = num_envs
        self._sessions, self._batch_size = sessions, batch_size or num_envs
        self._native = request.vector.vectorization_mode == NATIVE
        self._label = f"{type(self).__name__}({env_id}, num_envs={num_envs})"
        self._servers = VectorServers(target, options, request, self._family)
        self._shards = []
        self._open = False
        self._pending = PendingSteps([], 0, self._family)
        self._guard = CallGuard(self._family, self.__repr__)

    @classmethod
    async def make(
        cls, /, target: Targets, env_id: str, num_envs: int = 1, **settings: Any
    ) -> Self:
        """Makes the environments; for arguments and errors see the class."""
        envs = cls(target, env_id, num_envs, **settings)
        return await envs.__aenter__()

    async def _make(self) -> None:
        """Makes all sessions; closes them again if one cannot be made."""
        servers = self._servers
        try:
            try:
                made = await self._make_shards()
            except RemoteError as error:
                most = most_per_session(error, self._sessions)
                await self._discard()
                made = await self._make_shards(most)
            self._describe(made)
        except BaseException:
            await self._discard()
            raise
        finally:
            servers.close()
        self._pending = PendingSteps(self._shards, self._batch_size, self._family)

    async def _make_shards(self, most: int = 0) -> list[pb.MakeResponse]:
        servers, sessions = self._servers, self._sessions
        specs = await asyncio.to_thread(
            servers.lay_out, self.num_envs, sessions, self._batch_size, most
        )
        self._shards = [servers.shard(spec, self._label, AsyncShard, watch=False) for spec in specs]
        return await all_of([shard.handle.make_new() for shard in self._shards])

    async def _discard(self) -> None:
        await all_of([shard.handle.discard(close=True) for shard in self._shards])
        self._shards = []

    async def __aenter__(self) -> Self:
        with self._guard:
            if not self._shards:
                await self._make()
            await all_of([each.handle.make_new() for each in self._shards if each.handle.vacant])
            self._open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return self._label

    def _check_open(self) -> None:
        if not self._open:
            raise not_live(self)

    async def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | Sequence[dict[str, Any] | None] | None = None,
    ) -> tuple[Any, Infos]:
        """Starts an episode in every environment, or in those that a mask selects (see `RemoteVectorEnv.reset`)."""
        with self._guard:
            if not self._shards:
                await self._make()
            self._pending.check_none("reset")
            seeds = cut_seeds(seed, self._bounds)
            own_options = cut_options(options, self._bounds)
            parts = zip(self._shards, seeds, own_options, strict=True)
            results = await all_of([shard.reset(own, each) for shard, own, each in parts])
            self._pending.received, self._open = list(self._shards), True
        observations, *_, infos = self._joined(self._shards, results)
        return observations, infos

    async def step(self, actions: Any) -> StepResult:
        """Steps every environment (see `VectorEnv.step`)."""
        with self._guard:
            self._check_open()
            self._pending.check_none("step")
            own = self._cut(actions, self._bounds)
            parts = zip(self._shards, own, strict=True)
            results = await all_of([shard.step(each) for shard, each in parts])
            return self._joined(self._shards, results)

    async def send(self, actions: Any, env_id: Any = None) -> None:
        """Sends actions to some of the environments (see `RemoteVectorEnv.send`); `recv` returns the results."""
        with self._guard:
            self._check_open()
            shards = self._pending.chosen(env_id)
            bounds = compact_bounds(shards)
            self._pending.begin(shards, self._cut(actions, bounds))
            await asyncio.sleep(0)  # lets the tasks send them

    async def recv(self) -> StepResult:
        """Waits for the first `batch_size` environments that finish (see `RemoteVectorEnv.recv`).

        If it is cancelled, the steps go on, and the next `recv` returns their results.
        """
        with self._guard:
            shards, results = await self._pending.first_finished()
            result = self._joined(shards, results)
            result[-1]["env_id"] = env_ids(shards)
            return result

    def _joined(self, shards: Sequence[AsyncShard], results: Sequence[StepResult]) -> StepResult:
        return self._gatherer.joined([shard.size for shard in shards], results)

    async def _each(self, ask: Callable[[AsyncShard], Awaitable[_T]]) -> list[_T]:
        with self._guard:
            self._check_open()
            self._pending.check_none("this")
            return await all_of([ask(shard) for shard in self._shards])

    async def render(self) -> Any:
        """Returns a tuple with a frame of each environment."""
        frames = await self._each(lambda shard: shard.handle.serve(Render()))
        return joined(frames, self._native)

    async def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of each environment, or reads an attribute; returns a tuple with one result for each."""
        results = await self._each(lambda shard: call_each(shard.handle, name, args, kwargs))
        return joined(results, self._native)

    async def get_attr(self, name: str) -> Any:
        """Returns a tuple with an attribute of each environment; if it is a method, with the results of calling it."""
        return await self.call(name)

    async def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of each environment: to its element of a list or tuple, or to one value for all.

        Raises:
            ValueError: The number of values is not the number of environments.
        """
        self._check_open()
        own = [values] if self._native else cut_values(name, values, self._bounds)
        each = dict(zip(self._shards, own * len(self._shards), strict=False))
        await self._each(lambda shard: shard.handle.serve(SetAttribute(name, each[shard])))

    async def close(self) -> None:
        """Closes the environments on the servers and the connections to them. Closing twice is harmless."""
        await self._guard.wait_free()
        with self._guard:
            self._open = False
            await self._pending.end()
            await all_of([shard.handle.close() for shard in self._shards])
