"""Step time of each environment, for clients that choose how many environments to step together."""

from __future__ import annotations

import math
from collections.abc import Iterable

from envwire.server._front.sessions.record import SessionRecord
from envwire.v1 import environment_pb2 as pb

#: Modules of environments known to be cheap before any session of them was measured. A step of most of them takes 3 to
#: 15 us on one core of a 2.5 GHz Xeon, with the wrappers of `make`. Acrobot takes 24 and 47.
_CHEAP = ("envwire.envs.envs.", "gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
_CHEAP_SECONDS = 8e-6
#: Steps after which a session's mean counts, since the first step takes a hundred times as long as the others.
_WARMUP_STEPS = 200


class StepTimes:
    """Step time by environment: the smallest mean of all sessions, since other programs can only add to the time.

    Args:
        listed: The environments that the server makes.
    """

    def __init__(self, listed: Iterable[pb.EnvironmentListing]) -> None:
        self._measured: dict[str, float] = {}
        self._known = {
            listing.spec.id: _CHEAP_SECONDS
            for listing in listed
            if listing.spec.entry_point.startswith(_CHEAP)
        }

    def of(self, env_id: str) -> float | None:
        """Returns the time of a step in seconds; None if unknown."""
        return self._measured.get(env_id, self._known.get(env_id))

    def update(self, sessions: Iterable[SessionRecord]) -> None:
        """Updates the times from the means of the current sessions."""
        for session in sessions:
            steps = session.steps
            if steps >= _WARMUP_STEPS and not session.as_arrays:
                stepping = session.counters.stepping / 1e9
                before = self._measured.get(session.env_id, math.inf)
                self._measured[session.env_id] = min(before, stepping / steps)
