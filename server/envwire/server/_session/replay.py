"""Replays a recording: serves the requests of a lost session and digests the answers.

A client that lost a session sends that session's requests to a new one, which serves each like a request of its own.
The answers are not sent. The client gets their digest, which shows whether this environment behaved like the lost one.

The episodes of a vector environment's members begin and end at different times. A recording that begins with the oldest
current episode also contains requests from before the other members' episodes. Those members are left out of such
requests, and join with the reset that began their episode.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError

from envwire.codec import Family, FaultError, Reason
from envwire.codec.digests import RollingDigest
from envwire.server._hosting.np_random import restore
from envwire.server._hosting.vector_hosts import MembersHost
from envwire.server._hosting.vector_members import StandIn, standing_in
from envwire.v1 import environment_pb2 as pb


class MemberStarts:
    """Members that begin at different positions.

    Args:
        host: The vector environment.
        starts: Where members begin; a member without a start takes part in all requests.
        family: Its library.

    Raises:
        FaultError: INVALID_VALUE: there is no such member, or no observation to stand in for one that is left out.
    """

    def __init__(self, host: MembersHost, starts: Iterable[pb.MemberStart], family: Family) -> None:
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


#: Requests that a recording may contain: those that change an environment.
RECORDED = frozenset(
    {"reset", "step", "render", "set_attribute", "call_method", "save_state", "restore_state"}
)

#: A replay that takes longer is answered in parts, so that it does not exceed a deadline, which would end the session.
PART_SECONDS = 2.0

#: Returns the members that take part in a recording's requests, given their starts.
Begin = Callable[[Sequence[pb.MemberStart]], MemberStarts]
#: Serves a request, given its field in InteractRequest and its content; returns the InteractResponse.
Serve = Callable[[str, Any], bytes]


@dataclass
class Replaying:
    """Replays a recording in a session.

    Attributes:
        serve: Serves one request.
        begin_members: Returns the members that take part, if they begin at different positions.
        clock: Monotonic time, in seconds.
        on_begun: Called with the members that began with the last served request.
    """

    serve: Serve
    begin_members: Begin
    clock: Callable[[], float] = time.monotonic
    on_begun: Callable[[Sequence[int]], None] = lambda _: None
    #: Members that begin at different positions; by default all take part in every request.
    _members: MemberStarts | None = field(default=None, init=False)
    _digest: RollingDigest = field(default_factory=RollingDigest, init=False)

    def apply(self, request: pb.ReplayRequest, response: pb.ReplayResponse) -> None:
        """Serves as many requests of one part of the recording as fit into `PART_SECONDS`.

        Raises:
            FaultError: The part does not follow the last one, or contains a request that may not be recorded.
        """
        self._begin(request.position)
        if request.member_starts:
            self._members = self.begin_members(request.member_starts)
        digest, until = self._digest, self.clock() + PART_SECONDS
        told, unseen = len(digest.checkpoints), frozenset(request.unseen)
        for raw in request.requests:
            answer = self._serve_next(*_read(raw))
            digest.add(None if digest.count in unseen else answer)
            if self.clock() > until:
                break
        response.served = digest.count
        response.checkpoints.extend(digest.checkpoints[told:])
        response.digest = digest.value()

    def _serve_next(self, kind: str, body: Any) -> bytes:
        if self._members is None:
            return self.serve(kind, body)
        with self._members.at(self._digest.count) as begun:
            answer = self.serve(kind, body)
        if begun:
            self.on_begun(begun)
        return answer

    def _begin(self, position: int) -> None:
        if position == 0:
            self._digest, self._members = RollingDigest(), None
        if position != self._digest.count:
            raise FaultError(
                Reason.INVALID_VALUE,
                f"a part of a recording from request {position} on came where {self._digest.count} were served; send "
                "the parts in order, or begin again at 0",
            )


def _read(raw: bytes) -> tuple[str, Any]:
    try:
        request = pb.InteractRequest.FromString(raw)
    except DecodeError as error:
        raise FaultError(
            Reason.INVALID_VALUE, f"a recorded request is not an InteractRequest: {error}"
        ) from error
    kind = request.WhichOneof("request") or ""
    if kind not in RECORDED:
        raise FaultError(
            Reason.INVALID_VALUE,
            f"a {kind or 'request without content'} cannot be in a recording; record {', '.join(sorted(RECORDED))}",
        )
    return kind, getattr(request, kind)
