"""Adapts vector environments to the interface that a session drives: native ones, and lists of members."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from envwire.codec import Family, FaultError, Reason
from envwire.envs.type_guards import is_array, is_mapping
from envwire.server._hosting.vector.columns import columns, gather
from envwire.server._hosting.vector.members import (
    SPACES,
    Members,
    MemberWithFixedSpaces,
    ReportingMember,
    check_unchanged,
    standing_in,
)
from envwire.v1 import environment_pb2

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
