"""The history of a session in order: events in the front, and what its process counted on direct channels."""

from __future__ import annotations

from envwire.server._front.sessions.record import SessionRecord
from envwire.server._ipc.scoreboard import Counters
from envwire.server._ipc.scoreboard_row import loss_reason

#: Time in seconds of the server's clock, and description.
Moment = tuple[float, str]


def timeline(session: SessionRecord) -> tuple[Moment, ...]:
    """Returns the events of a session so far, oldest first."""
    return tuple(sorted([*session.events, *_counted(session.counters)]))


def _counted(seen: Counters) -> list[Moment]:
    """Returns the repeated requests and the replay, each with the time of the last one."""
    moments: list[Moment] = []
    if seen.repeated:
        moments.append((seen.repeated_at / 1e9, f"{seen.repeated} requests came again so far"))
    if seen.replayed:
        what = f"{seen.replayed} requests of an earlier session replayed"
        if seen.epoch:
            what += f": session {seen.epoch + 1} of its client, after {loss_reason(seen.loss)}"
        moments.append((seen.replayed_at / 1e9, what))
    return moments
