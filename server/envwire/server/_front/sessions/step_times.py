"""How long a step takes, for clients that choose how many environments to step together."""

from __future__ import annotations

import hashlib
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
