"""What a step of each environment takes, for clients that choose how many environments step together."""

from __future__ import annotations

import math
from collections.abc import Iterable

from envwire.server._front.sessions.record import SessionRecord
from envwire.v1 import environment_pb2 as pb

#: Modules of environments that are known to be cheap before there was a session of them, and what a step of most of
#: them takes on one core of a Xeon at 2.5 GHz: 3 to 15 us, with the wrappers of `make`. Acrobot takes 24 and 47.
_CHEAP = ("envwire.envs.envs.", "gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
_CHEAP_SECONDS = 8e-6
#: Steps after which a session's mean counts: the first takes a hundred times as long as the others.
_ENOUGH = 200


class StepTimes:
    """Time of a step by environment: the smallest mean of a session, since other programs only add to the time.

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
        """Returns the seconds of a step; None where they are not known."""
        return self._measured.get(env_id, self._known.get(env_id))

    def look(self, sessions: Iterable[SessionRecord]) -> None:
        """Takes the means of the sessions that there are."""
        for session in sessions:
            steps = session.steps
            if steps >= _ENOUGH and not session.as_arrays:
                stepping = session.counters.stepping / 1e9
                before = self._measured.get(session.env_id, math.inf)
                self._measured[session.env_id] = min(before, stepping / steps)
