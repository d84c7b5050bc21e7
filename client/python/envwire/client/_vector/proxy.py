"""The remote vector environment: N environments in sessions on one or many servers, one message per session and step.

The classes for envwire and Gymnasium add only their library's base class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from envwire.client._session.requests import (
    Differences,
    WrapperLike,
    listed,
    make_request,
    merged,
    set_vector,
)
from envwire.client._transports.transport import Transport
from envwire.client._vector.env_info import NATIVE
from envwire.client._vector.infos import Infos
from envwire.client._vector.members import Members
from envwire.client._vector.vector_servers import ShardPool, VectorServers, most_per_session
from envwire.client.credentials import Credentials
from envwire.client.errors import RemoteError
from envwire.client.options import ConnectionOptions
from envwire.v1 import environment_pb2 as pb


class _NamesVecEnv(type):
    """Type of the classes of vectors: stable-baselines3 refuses them with their class, and with nothing else."""

    def __repr__(cls) -> str:
        """Returns the class, and what stable-baselines3 takes instead."""
        told = "stable-baselines3 takes envwire.client.stable_baselines3.RemoteVecEnv"
        return f"<class '{cls.__module__}.{cls.__qualname__}'; {told}>"


class VectorProxy(Members, metaclass=_NamesVecEnv):
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

    Raises:
        ValueError: The numbers of environments, sessions and targets do not fit together.
        RemoteError: As `RemoteEnv`.
        Exception: As `RemoteEnv`.
    """

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
        self._pool = ShardPool(f"{type(self).__name__}({env_id}, num_envs={num_envs})")
        self.num_envs = num_envs
        options = ConnectionOptions.among(locals())
        wrappers, kwargs = listed(wrappers), merged(env_kwargs, kwargs)
        request = make_request(env_id, render_mode, wrappers, library, self._family, lease, kwargs)
        set_vector(request, vectorization_mode, autoreset_mode, self._family)
        differences = Differences(member_kwargs, observation_mode)
        differences.write(request.vector, num_envs)
        self._observation_mode = observation_mode
        remake = partial(
            type(self),
            target,
            env_id,
            sessions=sessions,
            batch_size=batch_size,
            autoreset_mode=autoreset_mode,
            vectorization_mode=vectorization_mode,
            observation_mode=observation_mode,
            member_kwargs=member_kwargs,
            wrappers=wrappers,
            library=library,
            env_kwargs=kwargs,
            **options.keywords,
        )
        servers = VectorServers(target, options, request, self._family)
        made = self._make(servers, sessions, batch_size)
        self.spec = self._env_spec(made, remake)
        self._batch_shards = len(self._shards) * (batch_size or num_envs) // num_envs
        self._native = request.vector.vectorization_mode == NATIVE
        self.closed = False

    def _make(
        self, servers: VectorServers, sessions: int | None, batch_size: int | None
    ) -> pb.MakeResponse:
        """Makes all sessions; returns the answer to the first Make."""
        try:
            made = self._make_shards(servers, sessions, batch_size or self.num_envs)
            self._shards = self._pool.shards
            self._describe(made)
        except BaseException:
            self._pool.kill()
            raise
        finally:
            servers.close()
        return made[0]

    def _make_shards(
        self, servers: VectorServers, sessions: int | None, batch_size: int
    ) -> list[pb.MakeResponse]:
        """Makes the sessions; once again if the servers can hold fewer environments in each, and the number is ours."""
        try:
            return self._pool.make(servers.lay_out(self.num_envs, sessions, batch_size), servers)
        except RemoteError as error:
            most = most_per_session(error, sessions)
        self._pool.kill()
        return self._pool.make(servers.lay_out(self.num_envs, None, batch_size, most), servers)

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

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the environments on the servers and the connections to them."""
        del kwargs
        self._sent, self._pending = (), ""
        self._pool.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self} cannot be copied or pickled: its state is on the server. Pickle a function that makes it"
        )
