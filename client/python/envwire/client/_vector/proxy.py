"""The remote vector environment: N environments in sessions on one or many servers, one message per session and step.

The classes for envwire and Gymnasium add only their library's base class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from envwire.client._session.requests import WrapperLike, listed, make_request, set_vector
from envwire.client._transports.transport import Transport
from envwire.client._vector.async_calls import AsyncCalls
from envwire.client._vector.batching.batches import cutter
from envwire.client._vector.batching.gathering import Gatherer, JoinInfos
from envwire.client._vector.batching.infos import Infos, join_infos
from envwire.client._vector.env_info import NATIVE, VectorAttributes, vector_env_spec
from envwire.client._vector.making import VectorServers
from envwire.client._vector.members import Members
from envwire.client._vector.shard_episodes import StepResult
from envwire.client._vector.shard_pool import ShardPool
from envwire.client._vector.shards import Shard
from envwire.client.credentials import Credentials
from envwire.client.options import ConnectionOptions
from envwire.v1 import environment_pb2 as pb


class VectorProxy(Members, VectorAttributes[Shard]):
    """Environments on servers, with the VectorEnv API.

    They behave like a local `SyncVectorEnv` of all of them. The environments of one session step one after another in
    one process; sessions step in parallel. `close()` may be called twice. `reset()` after `close()`, or after a session
    was lost, makes the missing environments again. After a fork of this program, the child's first `reset()` makes new
    ones.

    Args:
        target: HOST:PORT of the server, or a list of these; environments are distributed evenly and in order.
        env_id: Id of the environments.
        num_envs: Number of environments.
        sessions: Number of sessions; by default the number with which a step is fastest: at most one for each
            processor of the servers, and one for each server if the environments step as arrays.
        batch_size: Number of environments that `recv` waits for; by default all.
        autoreset_mode: When an environment whose episode ended is reset, a member of `AutoresetMode` or its name; by
            default "NEXT_STEP", or what a native vector environment does.
        vectorization_mode: "sync" (the default), or "vector_entry_point" for environments that step as arrays.
        render_mode: Render mode for the life of the proxy; not "human".
        wrappers: Wrappers to apply to each on the server, innermost first: names, or (name, keyword arguments).
        transport: Name of a transport, or a `Transport`, which takes one session only.
        library: Library of the id; by default that of this class, then any other.
        timeout: Seconds to wait for an answer; by default slightly longer than the server's step timeout.
        connect_timeout: Seconds to wait for a server, even one that has not started yet. By default 10 for a server
            that does not answer, and none if connections are refused.
        credentials: Certificates and token; by default from the ENVWIRE_* environment variables.
        lease: Seconds that the environments outlive this program; by default the server's.
        on_lost: Recovery of the environments of a lost session. "raise" (the default): raise an error.
            "truncate": end their episodes. "replay": make them again and repeat the recorded requests.
        replay_limit: Most requests per session that "replay" records since the last reset with seeds.
        env_kwargs: Keyword arguments of the environments whose names are parameters of this constructor.
        kwargs: Further keyword arguments of the environments.

    Raises:
        ValueError: The numbers of environments, sessions and targets do not fit together.
        RemoteError: As `RemoteEnv`.
        Exception: As `RemoteEnv`.
    """

    #: Joins the infos of sessions.
    _join_infos: JoinInfos = staticmethod(join_infos)
    spec: Any

    def __init__(
        self,
        /,
        target: str | Sequence[str] | None,
        env_id: str,
        num_envs: int = 1,
        *,
        sessions: int | None = None,
        batch_size: int | None = None,
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
        self._pool = ShardPool(self)
        self.num_envs = num_envs
        options = ConnectionOptions(
            transport, timeout, connect_timeout, credentials, lease, on_lost, replay_limit
        )
        wrappers, kwargs = listed(wrappers), {**(env_kwargs or {}), **kwargs}
        request = make_request(env_id, render_mode, wrappers, library, self._family, lease, kwargs)
        set_vector(request, vectorization_mode, autoreset_mode, self._family)
        remake = partial(
            type(self),
            target,
            env_id,
            sessions=sessions,
            batch_size=batch_size,
            autoreset_mode=autoreset_mode,
            vectorization_mode=vectorization_mode,
            wrappers=wrappers,
            library=library,
            env_kwargs=kwargs,
            **options.keywords,
        )
        made = self._make(
            VectorServers(target, options, request, self._family), sessions, batch_size
        )
        self.spec = vector_env_spec(made, num_envs, self.render_mode, self._family, remake)
        cut = cutter(self.single_action_space, self._family)
        gatherer = Gatherer(self.single_observation_space, self._family, self._join_infos)
        self._calls = AsyncCalls(self._pool, batch_size or num_envs, cut, gatherer, self._family)
        self._native = vectorization_mode == NATIVE
        self.closed = False

    def _make(
        self, servers: VectorServers, sessions: int | None, batch_size: int | None
    ) -> pb.MakeResponse:
        """Makes all sessions; returns the answer to the first Make."""
        try:
            specs = servers.lay_out(self.num_envs, sessions, batch_size or self.num_envs)
            made = self._pool.make(specs, servers)
            self._shards = self._pool.shards
            self._describe(made)
        except BaseException:
            self._pool.kill()
            raise
        finally:
            servers.close()
        return made[0]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | Sequence[dict[str, Any] | None] | None = None,
    ) -> tuple[Any, Infos]:
        """Starts an episode in every environment, or in those that a mask selects.

        Environments that were closed or lost are made again.

        Args:
            seed: None; a number, from which environment i gets `seed + i`; or one for each.
            options: For every environment, or a list with one dict for each. A "reset_mask", a bool array of shape
                (num_envs,), is removed from a dict and selects the environments to reset; the others keep their
                observation.

        Raises:
            ValueError: The number of seeds or options, or the shape of the mask, is not num_envs.
            TypeError: The mask is not a bool array.
        """
        self.reset_async(seed=seed, options=options)
        return self.reset_wait()

    def reset_async(self, *, seed: Any = None, options: Any = None) -> None:
        """Sends a reset; `reset_wait` or `recv` returns its result. Arguments are those of `reset`."""
        self._calls.reset_async(seed, options)

    def reset_wait(self) -> tuple[Any, Infos]:
        """Waits for the reset that `reset_async` sent, and returns its result like `reset`."""
        return self._calls.reset_wait()

    def step(self, actions: Any) -> StepResult:
        """Steps every environment (see `VectorEnv.step`)."""
        calls = self._calls
        calls.step_async(actions)
        return calls.step_wait()

    def step_async(self, actions: Any) -> None:
        """Sends actions, one for each environment; `step_wait` returns the result."""
        self._calls.step_async(actions)

    def step_wait(self) -> StepResult:
        """Waits for the step that `step_async` sent, and returns its result like `step`."""
        return self._calls.step_wait()

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Sends actions to some of the environments; `recv` returns the results.

        Args:
            actions: One for each of these environments.
            env_id: The environments, whole sessions as `recv` returned them; by default those of the last `recv`.

        Raises:
            ValueError: They are not the environments of whole sessions, or the number of actions is not theirs.
        """
        self._calls.send(actions, env_id)

    def recv(self) -> StepResult:
        """Waits for the first `batch_size` environments that finish what was sent to them.

        Returns:
            The result of `step` for these environments; `infos["env_id"]` holds their indices, in order. After a reset,
            rewards and flags are zero.

        Raises:
            NoAsyncCallError: Fewer environments than a batch needs have a pending request.
        """
        return self._calls.recv()

    @property
    def closed(self) -> bool:
        """Whether the environments are closed."""
        return self._pool.closed

    @closed.setter
    def closed(self, value: bool) -> None:
        self._pool.closed = value

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the environments on the servers and the connections to them."""
        del kwargs
        self._calls.clear()
        self._pool.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self} cannot be copied or pickled: its state is on the server. Pickle a function that makes it"
        )
