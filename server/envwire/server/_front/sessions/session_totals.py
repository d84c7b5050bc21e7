"""Totals over many sessions: of what they served, by their counters, and of the time of their Makes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field

from envwire.server._front.sessions.record import SessionRecord
from envwire.server._ipc.scoreboard_row import Counters, loss_reason


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
