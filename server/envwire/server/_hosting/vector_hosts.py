"""Adapts vector environments to the interface that a session drives: native ones, and lists of members.

Infos of members are collected into columns, with every value unchanged. A `SyncVectorEnv` gives a column the type of
the first value that it sees, so that a later 0.5 becomes 0 among integers. Only the client has all environments of the
batch and knows which value is the first. A column of one type is therefore sent as an array, and a column of several
types as an array of objects, which the client converts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from envwire.codec import Family, FaultError, Reason
from envwire.envs.type_guards import is_array, is_dict, is_mapping
from envwire.envs.vector.vector_env import is_numeric
from envwire.server._hosting.vector_members import (
    SPACES,
    Members,
    MemberWithFixedSpaces,
    ReportingMember,
    check_unchanged,
    standing_in,
)
from envwire.v1 import environment_pb2


class _Gathered:
    """The values of one key by member, or nested infos for a key that holds dictionaries."""

    __slots__ = ("dicts", "indices", "nested", "values")

    def __init__(self) -> None:
        self.indices: list[int] = []
        self.values: list[Any] = []
        self.nested: dict[Any, _Gathered] = {}
        self.dicts = 0


Gathering = dict[Any, _Gathered]


def gather(gathered: Gathering, info: Mapping[Any, Any], index: int) -> Gathering:
    """Adds the info of one member; replaces `VectorEnv._add_info`."""
    for key, value in info.items():
        column = gathered.get(key)
        if column is None:
            column = gathered[key] = _Gathered()
        column.indices.append(index)
        if is_dict(value) and key != "final_obs":
            gather(column.nested, value, index)
            column.dicts += 1
        column.values.append(value)
    return gathered


def columns(gathered: Gathering, num_envs: int) -> dict[Any, Any]:
    """Returns the infos as columns: each `key` is followed by `_key`, the mask of the members that have it."""
    infos: dict[Any, Any] = {}
    for key, column in gathered.items():
        mask = np.zeros(num_envs, np.bool_)
        mask[column.indices] = True
        nested = column.dicts == len(column.values)
        infos[key] = columns(column.nested, num_envs) if nested else _column(key, column, num_envs)
        infos[f"_{key}"] = mask
    return infos


def _column(key: Any, column: _Gathered, num_envs: int) -> npt.NDArray[Any]:
    first, values = column.values[0], column.values
    if key == "final_obs" or not is_numeric(first) or not _is_uniform(values):  # or some dicts
        objects = np.full(num_envs, None, dtype=object)
        for index, value in zip(column.indices, values, strict=True):
            objects[index] = value
        return objects
    array: npt.NDArray[Any] = np.zeros_like(
        first, shape=(num_envs, *getattr(first, "shape", ())), subok=False
    )
    array[column.indices] = values
    return array


def _is_uniform(values: list[Any]) -> bool:
    kinds: set[Any] = set(map(type, values))
    if kinds == {np.ndarray}:
        kinds = {(value.dtype, value.shape) for value in values}
    return len(kinds) == 1


RESET_MASK = "reset_mask"
_SINGLE_SPACES = "single_observation_space", "single_action_space"


class NativeHost:
    """A native vector environment. Its attributes are its own, not tuples with one element per member.

    Args:
        env: The vector environment.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.num_envs: int = env.num_envs
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self.single_observation_space = env.single_observation_space
        self.single_action_space = env.single_action_space
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        self.spec = env.spec
        self.step: Callable[[Any], tuple[Any, Any, Any, Any, Any]] = env.step
        self.render: Callable[[], Any] = env.render
        self.close: Callable[[], None] = env.close

    def __str__(self) -> str:
        return str(self.env)

    @property
    def unwrapped(self) -> Any:
        """The vector environment itself, which holds the generator."""
        return self.env.unwrapped

    def reset(self, **kwargs: Any) -> tuple[Any, Any]:
        """Starts an episode in every environment.

        Raises:
            FaultError: UNSUPPORTED: its spaces are no longer those that it was made with.
        """
        observations, infos = self.env.reset(**kwargs)
        for name in (*SPACES, *_SINGLE_SPACES):
            check_unchanged(
                "the vector environment", name, getattr(self, name), getattr(self.env, name)
            )
        return observations, infos

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns an attribute.

        Raises:
            AttributeError: The environment has no such attribute.
        """
        return getattr(self.env, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute; returns whether it was set."""
        if not force and not hasattr(self.env, name):
            return False
        setattr(self.env, name, value)
        return True


class MembersHost(NativeHost):
    """A `SyncVectorEnv` of either library. Its attributes are tuples with one element per member.

    Args:
        env: A `SyncVectorEnv` that does not copy its observations, which are sent before the next step.
        report_resets: Whether to record the resets of members.

    Attributes:
        member_resets: Unseeded resets of members during the last reset or step.
    """

    def __init__(self, env: Any, *, report_resets: bool = False) -> None:
        super().__init__(env)
        self.member_resets: list[environment_pb2.MemberReset] = []
        env.envs = [MemberWithFixedSpaces(*each) for each in enumerate(env.envs)]
        if report_resets:
            members = enumerate(env.envs)
            env.envs = [ReportingMember(*each, self.member_resets) for each in members]
        env._add_info = gather  # the client merges infos: it has all environments of the batch
        self._step: Callable[[Any], tuple[Any, Any, Any, Any, Any]] = env.step
        self._observations: Any = None
        self.step = self._take_step

    @property
    def observation_mode(self) -> str:
        """How the observation spaces of the members are related."""
        mode: str = self.env.observation_mode
        return mode

    @property
    def members(self) -> Sequence[Any]:
        """The environments, each with its wrappers."""
        members: Sequence[Any] = self.env.envs
        return members

    def reset(
        self, *, member_options: Sequence[dict[Any, Any]] = (), **kwargs: Any
    ) -> tuple[Any, Any]:
        """Starts an episode in every member, or in those that a mask selects.

        Args:
            member_options: One dictionary of options per member, instead of one for all.
            kwargs: Seed and options.
        """
        self.member_resets.clear()
        if self._observations is not None and _chooses_none(kwargs.get("options"), self.num_envs):
            return self._observations, {}
        members = self.members
        if member_options:
            members = [
                _MemberWithOptions(*each) for each in zip(members, member_options, strict=True)
            ]
        with standing_in(self.env, members):
            self._observations, infos = self.env.reset(**kwargs)
        return self._observations, columns(infos, self.num_envs)

    def _take_step(self, actions: Any) -> tuple[Any, Any, Any, Any, Any]:
        if self.member_resets:
            self.member_resets.clear()
        observations, rewards, terminations, truncations, infos = self._step(actions)
        self._observations = observations
        if infos:
            infos = columns(infos, self.num_envs)
        return observations, rewards, terminations, truncations, infos

    def rows(self, family: Family) -> list[Any]:
        """Returns a copy of each member's last observation; an empty list before the first reset."""
        if self._observations is None:
            return []
        batch = copy.deepcopy(self._observations)
        return list(family.vector.utils.iterate(self.observation_space, batch))

    def select(self, indices: Sequence[int]) -> Members:
        """Returns some of the members.

        Raises:
            FaultError: INVALID_VALUE: there is no such member.
        """
        if max(indices) >= self.num_envs:
            raise FaultError(
                Reason.INVALID_VALUE,
                f"there is no member {max(indices)} among {self.num_envs}; count them from 0",
            )
        return Members([self.members[index] for index in indices])

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns the attribute of all members (see `Members`)."""
        return Members(self.members).get_wrapper_attr(name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets the attribute of all members (see `Members`)."""
        return Members(self.members).set_wrapper_attr(name, value, force=force)


class _MemberWithOptions:
    """A member that is reset with its own options."""

    def __init__(self, member: Any, options: dict[Any, Any]) -> None:
        self._member = member
        self._options = options or None

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        del options
        return self._member.reset(seed=seed, options=self._options)


def _chooses_none(options: Any, num_envs: int) -> bool:
    """Whether a mask selects no member of this session, which then only returns their last observations."""
    mask = options.get(RESET_MASK) if is_mapping(options) else None
    fits = is_array(mask) and mask.shape == (num_envs,) and mask.dtype == np.bool_
    return bool(fits and not np.any(mask))


def is_vector(env: Any) -> TypeGuard[NativeHost]:
    """Returns whether an environment is a vector environment."""
    return isinstance(env, NativeHost)
