"""Access to the attributes and methods of a vector environment's members, and what stands in for them."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

from envwire.codec import FaultError, Reason
from envwire.envs.type_guards import is_tuple_or_list
from envwire.server._grammar import counted
from envwire.server._hosting.np_random import write_state
from envwire.v1 import environment_pb2

SPACES = "observation_space", "action_space"


class StandIn:
    """Stand-in for a member, which delegates all attributes that it does not define to the member.

    Args:
        member: The member.
    """

    def __init__(self, member: Any) -> None:
        self._member = member

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)


class MemberWithFixedSpaces(StandIn):
    """Wraps a member of a vector environment, and refuses a reset that changes its spaces.

    A `SyncVectorEnv` would go on with batches that no longer fit the member.

    Args:
        index: Its index in the vector environment.
        member: The environment.
    """

    def __init__(self, index: int, member: Any) -> None:
        super().__init__(member)
        self._name = f"member {index}"
        self._spaces = [(name, getattr(member, name)) for name in SPACES]
        self.step = member.step  # bound directly: steps skip this wrapper

    def reset(self, **kwargs: Any) -> Any:
        """Resets the member.

        Raises:
            FaultError: UNSUPPORTED: its spaces are no longer those that it was made with.
        """
        result = self._member.reset(**kwargs)
        for name, made in self._spaces:
            check_unchanged(self._name, name, made, getattr(self._member, name))
        return result


def check_unchanged(whose: str, name: str, made: Any, space: Any) -> None:
    """Refuses a space that differs from the one with which a vector environment was made.

    Raises:
        FaultError: UNSUPPORTED.
    """
    if space is not made and space != made:
        raise FaultError(
            Reason.UNSUPPORTED,
            f"the reset changed the {name} of {whose} from {made} to {space}, and the spaces of a vector environment "
            "are fixed: make single environments, or one with a space that holds all of them",
        )


class ReportingMember(StandIn):
    """Wraps a member of a vector environment, and records its unseeded resets and the state of its generator before.

    With both, a client can recover each member by replaying its own episode (see `member_starts`).

    Args:
        index: Its index in the vector environment.
        member: The environment.
        resets: List to which its resets are appended.
    """

    def __init__(self, index: int, member: Any, resets: list[environment_pb2.MemberReset]) -> None:
        super().__init__(member)
        self._index = index
        self._resets = resets
        self.step = member.step  # bound directly: steps skip this wrapper

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Resets the member; a seeded reset is not recorded, since it does not depend on earlier state."""
        noted = environment_pb2.MemberReset(member=self._index)
        if seed is None:
            write_state(self._member, noted)
        result = self._member.reset(seed=seed, options=options)
        if seed is None:
            self._resets.append(noted)
        return result


@contextlib.contextmanager
def standing_in(env: Any, stand_ins: Sequence[Any]) -> Generator[None]:
    """Context in which others stand in for the members of a vector environment."""
    members, env.envs = env.envs, stand_ins
    try:
        yield
    finally:
        env.envs = members


class Members:
    """Several environments as one object, whose attributes are tuples with one element per member.

    Args:
        envs: The environments.
    """

    def __init__(self, envs: Sequence[Any]) -> None:
        self._envs = envs

    def get_wrapper_attr(self, name: str) -> Any:
        """Returns a tuple of all members' attributes, or a function that calls the method of each.

        Raises:
            AttributeError: A member has no such attribute.
        """
        found = tuple(env.get_wrapper_attr(name) for env in self._envs)
        return partial(_call_each, found) if any(map(callable, found)) else found

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets an attribute of every member: to one value, or to one element each of a list or tuple.

        Raises:
            ValueError: The number of values differs from the number of members.
        """
        if not force:
            self.get_wrapper_attr(name)
        each = value if is_tuple_or_list(value) else [value] * len(self._envs)
        if len(each) != len(self._envs):
            raise ValueError(
                f"{counted(len(each), 'value')} of {name!r} for {counted(len(self._envs), 'environment')}; "
                "give one for each"
            )
        for env, own in zip(self._envs, each, strict=True):
            env.set_wrapper_attr(name, own)
        return True


def _call_each(found: Sequence[Any], /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return tuple(each(*args, **kwargs) if callable(each) else each for each in found)
