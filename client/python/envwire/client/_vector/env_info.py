"""Metadata, spaces and spec of a vector environment, from the answers to its Makes.

The first session's are used; those of the other sessions must be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic

from envwire.client._env.attributes import read_spaces
from envwire.client._recovery.session_handle import ConnectionStats
from envwire.client._session.states import Notice
from envwire.client._vector.batches import Bounds, Cut, cutter
from envwire.client._vector.gathering import Gatherer, JoinInfos
from envwire.client._vector.infos import join_infos
from envwire.client._vector.shards import S
from envwire.codec import Family, decode_env_spec, decode_mapping, decode_space
from envwire.v1 import environment_pb2 as pb

NATIVE = "vector_entry_point"


class VectorAttributes(Generic[S]):
    """The attributes of a vector environment that need no request, for blocking and asyncio proxies.

    The base classes of proxies declare plain attributes; here they are copied from the remote environments.
    """

    _family: Family
    #: Joins the infos of sessions.
    _join_infos: JoinInfos = staticmethod(join_infos)
    _shards: list[S]
    #: Start and stop of each shard's environments.
    _bounds: Bounds
    #: Splits a batch of actions for the shards.
    _cut: Cut
    _gatherer: Gatherer
    metadata: dict[str, Any]
    num_envs: int
    render_mode: str | None
    observation_space: Any
    action_space: Any
    single_observation_space: Any
    single_action_space: Any

    def _describe(self, made: Sequence[pb.MakeResponse]) -> None:
        """Sets the attributes from the answers to the Makes.

        Args:
            made: The answer to the Make of each session.

        Raises:
            RuntimeError: The spaces of a session differ from those of the first.
        """
        first, family = made[0], self._family
        singles = _single_spaces(first, family)
        targets = [shard.handle.target for shard in self._shards]
        different = [space for each in made for space in _member_spaces(each, family)]
        batched = self._batched(made, singles, different)
        for other, target in zip(made[1:], targets[1:], strict=True):
            spaces = _single_spaces(other, family)
            if different:  # `_batched` has compared them
                spaces[0] = singles[0]
            if spaces != singles:
                raise RuntimeError(
                    f"the environments on {target} have other spaces than those on {targets[0]}; serve the same "
                    "version on all targets, and give member_kwargs= that leave spaces equal; with "
                    "observation_mode='different' the bounds of observations may differ"
                )
        self.metadata = decode_mapping(first.metadata, family)
        self.render_mode = first.render_mode if first.HasField("render_mode") else None
        self.single_observation_space, self.single_action_space = singles
        self.observation_space, self.action_space = batched
        self._bounds = [(shard.spec.start, shard.spec.stop) for shard in self._shards]
        self._cut = cutter(self.single_action_space, family)
        self._gatherer = Gatherer(self.single_observation_space, family, self._join_infos)
        for shard in self._shards:
            shard.episodes.follow(first.vector.autoreset_mode, singles[0], family)

    def _batched(
        self, made: Sequence[pb.MakeResponse], singles: Sequence[Any], different: Sequence[Any]
    ) -> list[Any]:
        """Returns the spaces of batches of observations and of actions.

        Args:
            made: The answer to the Make of each session.
            singles: The spaces of the first environment.
            different: The observation space of each environment, if they differ.
        """
        first, utils = made[0], self._family.vector.utils
        if len(made) == 1:
            names = "observation_space", "action_space"
            return read_spaces(first, first.description, self._family, *names)
        batched = [utils.batch_space(each, self.num_envs) for each in singles]
        if different:
            batched[0] = utils.batch_differing_spaces(different)
        return batched

    def _env_spec(self, made: pb.MakeResponse, remake: Callable[..., Any]) -> Any:
        """Returns a spec from which `make_vec` makes the vector environment again; None if the environments have none.

        Args:
            made: The answer to the Make of the first session.
            remake: Makes the vector environment again.
        """
        if not made.HasField("spec"):
            return None
        spec = decode_env_spec(made.spec, self._family, remake)
        spec.entry_point = None
        spec.vector_entry_point = partial(_remake, remake)
        spec.additional_wrappers = ()  # the server applies them
        spec.kwargs = {"num_envs": self.num_envs, "vectorization_mode": NATIVE}
        if self.render_mode is not None:
            spec.kwargs["render_mode"] = self.render_mode
        return spec

    @property
    def connection_stats(self) -> ConnectionStats:
        """Counters of the sessions and connections, summed."""
        every = [shard.handle.stats for shard in self._shards]
        return ConnectionStats(*map(sum, zip(*every, strict=True)))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the servers, such as that one is about to stop and in how many seconds."""
        return tuple(notice for shard in self._shards for notice in shard.handle.notices)


def _single_spaces(made: pb.MakeResponse, family: Family) -> list[Any]:
    return read_spaces(
        made.vector, made.description, family, "single_observation_space", "single_action_space"
    )


def _member_spaces(made: pb.MakeResponse, family: Family) -> list[Any]:
    """Returns the observation spaces of the members, if they differ."""
    given = made.vector.member_observation_spaces
    return [decode_space(each, family, "member_observation_spaces") for each in given]


def _remake(remake: Callable[..., Any], /, max_episode_steps: Any = None, **kwargs: Any) -> Any:
    del max_episode_steps  # the server's spec has it
    return remake(**kwargs)
