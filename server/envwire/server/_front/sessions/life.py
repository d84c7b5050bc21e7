"""The life cycle of a session in the front: states, events and the meaning of each end, as tables.

Every state change in the front goes through these tables. The states of an episode are kept in the session process
(`_session.states`).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from envwire.codec import Reason


class Life(Enum):
    """State of a session."""

    MAKING = "its environment is being made"
    LIVE = "its requests are served"
    CLOSED = "its client closed it, or may no longer use it, or its operator ended it"
    EXPIRED = "its client was gone for longer than its lease"
    DRAINED = "the server stopped"
    LOST = "its process died, or was killed because it hung or misbehaved"


class Event(Enum):
    """An event that changes a session's state."""

    MADE = "made"
    CLOSE = "close"
    REVOKE = "revoke"
    TERMINATE = "terminate"
    EXPIRE = "expire"
    DRAIN = "drain"
    OVERRUN = "overrun"
    DIE = "die"
    MISBEHAVE = "misbehave"


class End(NamedTuple):
    """The meaning of an event that ends a session.

    Attributes:
        life: The session's state afterwards.
        reason: The reason that its client gets from then on.
        kills: Whether its process is killed; otherwise the environment is closed.
    """

    life: Life
    reason: Reason
    kills: bool


ENDS: dict[Event, End] = {
    Event.CLOSE: End(Life.CLOSED, Reason.SESSION_CLOSED, kills=False),
    Event.REVOKE: End(Life.CLOSED, Reason.SESSION_CLOSED, kills=False),
    Event.TERMINATE: End(Life.CLOSED, Reason.SESSION_CLOSED, kills=False),
    Event.EXPIRE: End(Life.EXPIRED, Reason.SESSION_EXPIRED, kills=False),
    Event.DRAIN: End(Life.DRAINED, Reason.DRAINING, kills=False),
    Event.OVERRUN: End(Life.LOST, Reason.STEP_TIMEOUT, kills=True),
    Event.DIE: End(Life.LOST, Reason.SESSION_LOST, kills=True),
    Event.MISBEHAVE: End(Life.LOST, Reason.SESSION_LOST, kills=True),
}

ALIVE = (Life.MAKING, Life.LIVE)

TRANSITIONS: dict[tuple[Life, Event], Life] = {
    (Life.MAKING, Event.MADE): Life.LIVE,
    **{(life, event): end.life for life in ALIVE for event, end in ENDS.items()},
}

#: The reasons that clients get for ended sessions.
END_REASONS = frozenset(end.reason for end in ENDS.values())
