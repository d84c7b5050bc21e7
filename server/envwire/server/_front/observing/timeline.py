"""What happened to a session, in order: what the front saw of it, and what its process counted on direct channels."""

from __future__ import annotations

from envwire.server._front.sessions.record import SessionRecord
from envwire.server._ipc.scoreboard import Counters
from envwire.server._ipc.scoreboard_row import loss_reason

#: When, in seconds of the server's clock, and what.
Moment = tuple[float, str]


def timeline(session: SessionRecord) -> tuple[Moment, ...]:
    """Returns what happened to a session so far, the oldest first."""
    return tuple(sorted([*session.events, *_counted(session.counters)]))


def _counted(seen: Counters) -> list[Moment]:
    """Returns the repeats and the replay, each with the time of the last one."""
    moments: list[Moment] = []
    if seen.repeated:
        moments.append((seen.repeated_at / 1e9, f"{seen.repeated} requests came again so far"))
    if seen.replayed:
        what = f"{seen.replayed} requests of an earlier session replayed"
        if seen.epoch:
            what += f": session {seen.epoch + 1} of its client, after {loss_reason(seen.loss)}"
        moments.append((seen.replayed_at / 1e9, what))
    return moments
