"""Replays a recording to a vector environment whose members begin at different positions.

The episodes of members begin and end at different times. A recording that begins with the oldest current episode also
contains requests from before the other members' episodes. Those members are left out of such requests, and join with
the reset that began their episode.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from envwire.codec import Family, FaultError, Reason
from envwire.server._hosting.np_random import restore
from envwire.server._hosting.vector.members import StandIn, standing_in
from envwire.server._hosting.vector.vector_hosts import MembersHost
from envwire.v1 import environment_pb2


class MemberStarts:
    """Members that begin at different positions.

    Args:
        host: The vector environment.
        starts: Where members begin; a member without a start takes part in all requests.
        family: Its library.

    Raises:
        FaultError: INVALID_VALUE: there is no such member, or no observation to stand in for one that is left out.
    """

    def __init__(
        self, host: MembersHost, starts: Iterable[environment_pb2.MemberStart], family: Family
    ) -> None:
        self._env = host.env
        self._starts = {start.member: start for start in starts}
        self._last = max(start.position for start in self._starts.values())
        self._rows = host.rows(family)
        host.select(list(self._starts))

    @contextlib.contextmanager
    def at(self, position: int) -> Generator[Sequence[int]]:
        """Leaves out members that begin later, and starts those that begin at this position.

        The next request then has the same effect as when it was recorded.

        Yields:
            The members that begin with this request.

        Raises:
            FaultError: INVALID_VALUE: the state of a generator cannot be restored.
        """
        if position > self._last:
            yield ()
            return
        members = [self._taking_part(*each, position) for each in enumerate(self._env.envs)]
        with standing_in(self._env, members):
            yield [each for each, start in self._starts.items() if start.position == position]

    def _taking_part(self, index: int, member: Any, position: int) -> Any:
        start = self._starts.get(index)
        if start is None or position > start.position:
            return member
        if position < start.position:
            return _SkippedMember(member, self._row(index))
        if start.HasField("np_random"):
            restore(member, start.np_random)
        return _StartingMember(member)

    def _row(self, index: int) -> Any:
        if not self._rows:
            raise FaultError(
                Reason.INVALID_VALUE,
                f"member {index} is left out of a recording before any reset; reset all members first",
            )
        return self._rows[index]


class _SkippedMember(StandIn):
    """Stand-in for a member that is left out: neither stepped nor reset."""

    def __init__(self, member: Any, observation: Any) -> None:
        super().__init__(member)
        self._observation = observation

    def step(self, _: Any) -> tuple[Any, float, bool, bool, dict[Any, Any]]:
        return self._observation, 0.0, False, False, {}

    def reset(self, **_: Any) -> tuple[Any, dict[Any, Any]]:
        return self._observation, {}


class _StartingMember(StandIn):
    """Stand-in for a member that begins here: the next request resets it, even a step (its autoreset)."""

    def step(self, _: Any) -> tuple[Any, float, bool, bool, dict[Any, Any]]:
        observation, info = self._member.reset()
        return observation, 0.0, False, False, info
