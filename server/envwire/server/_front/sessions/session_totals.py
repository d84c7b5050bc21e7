"""Totals over many sessions: what they served, who used their slots, and how long their steps and Makes take."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

from envwire.server._front.sessions.record import SessionRecord
from envwire.server._ipc.scoreboard import Counters, loss_reason
from envwire.v1 import environment_pb2 as pb


@dataclass
class EpisodeTotals:
    """Finished episodes of one environment id: their number, and the sums of their steps and returns."""

    episodes: int = 0
    lengths: int = 0
    returns: float = 0.0


@dataclass
class SessionTotals:
    """Totals over sessions. Times are in seconds.

    Attributes:
        requests: Number of requests.
        steps: Number of environment steps.
        serving: Time spent on requests in the session processes.
        stepping: Part of `serving` spent in the environments' steps.
        replying: Part of `serving` spent handing answers to the operating system.
        cpu: Processor time of the processes of ended sessions.
        relaying: Time for which the front waited for answers to requests over gRPC.
        received: Bytes of requests on direct channels.
        sent: Bytes of their answers.
        repeated: Number of repeated requests.
        replayed: Number of requests served to recover environments.
        recoveries: Number of sessions that replaced a lost one, by the reason of the loss.
        episodes: Finished episodes, by the id of their environment.
    """

    requests: int = 0
    steps: int = 0
    serving: float = 0.0
    stepping: float = 0.0
    replying: float = 0.0
    cpu: float = 0.0
    relaying: float = 0.0
    received: int = 0
    sent: int = 0
    repeated: int = 0
    replayed: int = 0
    recoveries: Counter[str] = field(default_factory=Counter[str])
    episodes: dict[str, EpisodeTotals] = field(default_factory=dict[str, EpisodeTotals])

    def with_open(self, sessions: Iterable[SessionRecord]) -> SessionTotals:
        """Returns these totals with those of open sessions, as their scoreboards have them."""
        totals = deepcopy(self)
        for session in sessions:
            totals.add(session)
        return totals

    def add(self, session: SessionRecord) -> None:
        """Adds a session's counters, which are not trusted: its process may have written anything."""
        seen = session.counters
        self.requests += seen.requests
        self.steps += seen.steps
        self.serving += seen.serving / 1e9
        self.stepping += seen.stepping / 1e9
        self.replying += seen.replying / 1e9
        self.cpu += session.cpu
        self.relaying += session.liveness.waited
        self.received += seen.received
        self.sent += seen.sent
        self.repeated += seen.repeated
        self.replayed += seen.replayed
        if seen.epoch:
            self.recoveries[loss_reason(seen.loss)] += 1
        if seen.episodes:
            sums = self.episodes.setdefault(session.env_id, EpisodeTotals())
            sums.episodes += seen.episodes
            sums.lengths += seen.lengths
            sums.returns += seen.returns if math.isfinite(seen.returns) else 0.0


@dataclass
class MakeTimings:
    """Total seconds of successful Makes, without those that took a warm environment.

    Attributes:
        queue: Waiting for a free slot.
        process: Starting a process, or finding one with a free slot.
        environment: Making the environment.
        codec: Encoding its spaces and specification.
        wire: The rest: sending the order to the process, and its answer back.
    """

    queue: float = 0.0
    process: float = 0.0
    environment: float = 0.0
    codec: float = 0.0
    wire: float = 0.0

    def add(self, queue: float, process: float, asked: float, counters: Counters) -> None:
        """Adds a Make.

        Args:
            queue: Seconds of waiting for a free slot.
            process: Seconds of starting or finding a process.
            asked: Seconds from the order to its answer.
            counters: The session's counters.
        """
        environment, codec = counters.making / 1e9, counters.describing / 1e9
        self.queue += queue
        self.process += process
        self.environment += environment
        self.codec += codec
        self.wire += max(0.0, asked - environment - codec)


#: Number of pairs of client and environment; clients choose ids, and each client without a token is its address.
MOST = 1000


class Holder(NamedTuple):
    """Who held slots, and for what.

    Attributes:
        owner: Name of the client.
        env_id: Id of the environment.
    """

    owner: str
    env_id: str


#: All that are beyond the bound.
OTHERS = Holder("others", "")


@dataclass
class Use:
    """What one holder used.

    Attributes:
        sessions: Number of sessions, open ones and those that were not made included.
        open: Number of open ones.
        seconds: Time that they held a slot.
    """

    sessions: int = 0
    open: int = 0
    seconds: float = 0.0


class SlotUsage:
    """The use of one server's slots since it started."""

    def __init__(self) -> None:
        self._ended: dict[Holder, Use] = {}

    def add(self, session: SessionRecord) -> None:
        """Adds a session that ended."""
        _add(self._ended, session, is_open=False)

    def with_open(self, sessions: Iterable[SessionRecord]) -> Iterator[tuple[Holder, Use]]:
        """Yields the use by holder, with that of open sessions."""
        used = {holder: Use(each.sessions, 0, each.seconds) for holder, each in self._ended.items()}
        for session in sessions:
            _add(used, session, is_open=True)
        return iter(used.items())


def _add(used: dict[Holder, Use], session: SessionRecord, *, is_open: bool) -> None:
    holder = Holder(session.owner, session.env_id)
    if holder not in used and len(used) >= MOST - 1:
        holder = OTHERS
    use = used.setdefault(holder, Use())
    use.sessions += 1
    use.open += is_open
    use.seconds += session.clock() - session.began


#: Modules of environments known to be cheap before any session of them was measured. A step of most of them takes 3 to
#: 15 us on one core of a 2.5 GHz Xeon, with the wrappers of `make`. Acrobot takes 24 and 47.
_CHEAP = ("envwire.envs.envs.", "gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
_CHEAP_SECONDS = 8e-6
#: Steps after which a session's mean counts, since the first step takes a hundred times as long as the others.
_WARMUP_STEPS = 200
#: Most kinds of environments whose times are kept: clients choose the keyword arguments.
_MOST_KINDS = 4096


def kind_of(request: pb.MakeRequest) -> bytes:
    """Returns a digest of everything in a Make that decides how long a step takes."""
    deciding = pb.MakeRequest(
        env_id=request.env_id,
        library=request.library,
        prefer=request.prefer,
        kwargs=request.kwargs,
        wrappers=request.wrappers,
        vector=pb.VectorRequest(member_kwargs=request.vector.member_kwargs),
    )
    if request.HasField("render_mode"):
        deciding.render_mode = request.render_mode
    return hashlib.sha256(deciding.SerializeToString(deterministic=True)).digest()


class StepTimes:
    """Step time by kind of environment: the smallest mean of all sessions, since other programs can only add to it.

    Args:
        listed: The environments that the server makes.
    """

    def __init__(self, listed: Iterable[pb.EnvironmentListing]) -> None:
        self._measured: dict[bytes, float] = {}
        self._cheap = {
            listing.spec.id for listing in listed if listing.spec.entry_point.startswith(_CHEAP)
        }

    def of(self, request: pb.MakeRequest) -> float | None:
        """Returns the time of a step in seconds; None if unknown."""
        known = (
            request.env_id in self._cheap and not request.kwargs.entries and not request.wrappers
        )
        return self._measured.get(kind_of(request), _CHEAP_SECONDS if known else None)

    def update(self, sessions: Iterable[SessionRecord]) -> None:
        """Updates the times from the means of the current sessions."""
        for session in sessions:
            steps = session.steps
            if steps >= _WARMUP_STEPS and not session.as_arrays:
                stepping = session.counters.stepping / 1e9
                before = self._measured.pop(session.kind, math.inf)
                self._measured[session.kind] = min(before, stepping / steps)
        while len(self._measured) > _MOST_KINDS:
            del self._measured[next(iter(self._measured))]
