"""What sessions served: sums over the scoreboards' rows of many of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from envwire.server._front.sessions.record import SessionRecord
from envwire.server._ipc.scoreboard_row import loss_reason


@dataclass
class EpisodeSums:
    """Episodes of one environment id that have ended: how many, their steps and their returns."""

    episodes: int = 0
    lengths: int = 0
    returns: float = 0.0


@dataclass
class Served:
    """What sessions served. Times are in seconds.

    Attributes:
        requests: How many requests.
        steps: How many steps of environments.
        serving: Time spent on them in the sessions' processes.
        stepping: Time of that in the environments' steps.
        replying: Time of `serving` in which answers were handed to the operating system.
        relaying: Time in which the front waited for answers to requests over gRPC.
        received: Bytes of requests on direct channels.
        sent: Bytes of their answers.
        repeated: Requests that came again.
        replayed: Requests that were served to recover environments.
        recoveries: Sessions that replaced a lost one, by the reason of the loss.
        episodes: Episodes by the id of their environment.
    """

    requests: int = 0
    steps: int = 0
    serving: float = 0.0
    stepping: float = 0.0
    replying: float = 0.0
    relaying: float = 0.0
    received: int = 0
    sent: int = 0
    repeated: int = 0
    replayed: int = 0
    recoveries: Counter[str] = field(default_factory=Counter[str])
    episodes: dict[str, EpisodeSums] = field(default_factory=dict[str, EpisodeSums])

    def add(self, session: SessionRecord) -> None:
        """Adds what one session served. Its process may have written anything."""
        seen = session.counters
        self.requests += seen.requests
        self.steps += seen.steps
        self.serving += seen.serving / 1e9
        self.stepping += seen.stepping / 1e9
        self.replying += seen.replying / 1e9
        self.relaying += session.attendance.waited
        self.received += seen.received
        self.sent += seen.sent
        self.repeated += seen.repeated
        self.replayed += seen.replayed
        if seen.epoch:
            self.recoveries[loss_reason(seen.loss)] += 1
        if seen.episodes:
            sums = self.episodes.setdefault(session.env_id, EpisodeSums())
            sums.episodes += seen.episodes
            sums.lengths += seen.lengths
            sums.returns += seen.returns if math.isfinite(seen.returns) else 0.0
