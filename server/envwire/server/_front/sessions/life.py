"""The life of a session on the server: states, events and the meaning of each end, as tables.

Every change of state in the front goes through these tables. The states of an episode are kept in the session's
process (`_session.states`).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from envwire.codec import Reason


class Life(Enum):
    """Where a session stands."""

    MAKING = "its environment is being made"
    LIVE = "its requests are served"
    CLOSED = "its client closed it, or may no longer use it, or its operator ended it"
    EXPIRED = "its client was gone for longer than its lease"
    DRAINED = "the server stopped"
    LOST = "its process died, or was killed because it hung or misbehaved"


class Event(Enum):
    """What changes a session's state."""

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
    """What an event means that ends a session.

    Attributes:
        life: Where the session stands then.
        reason: What its client is told from then on.
        kills: Whether its process is killed; else the environment is closed.
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

#: What clients are told of sessions that ended.
END_REASONS = frozenset(end.reason for end in ENDS.values())
