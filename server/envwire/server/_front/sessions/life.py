"""The life cycle of a session in the front: states, events, and the meaning and text of each end, as tables.

Every state change in the front goes through these tables. The states of an episode are kept in the session process
(`_session.states`).
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from envwire.codec import FaultError, Reason


class Life(Enum):
    """State of a session."""

    MAKING = "its environment is being made"
    LIVE = "its requests are served"
    CLOSED = "its client closed it, or may no longer use it, or its operator ended it"
    EXPIRED = (
        "its client was gone for longer than its lease, or sent no request for longer than it may"
    )
    DRAINED = "the server stopped"
    LOST = "its process died, or was killed because it hung or misbehaved"


class LifeEvent(Enum):
    """An event that changes a session's state."""

    MADE = "made"
    CLOSE = "close"
    REVOKE = "revoke"
    TERMINATE = "terminate"
    EXPIRE = "expire"
    IDLE = "idle"
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


ENDS: dict[LifeEvent, End] = {
    LifeEvent.CLOSE: End(Life.CLOSED, Reason.SESSION_CLOSED, kills=False),
    LifeEvent.REVOKE: End(Life.CLOSED, Reason.SESSION_CLOSED, kills=False),
    LifeEvent.TERMINATE: End(Life.CLOSED, Reason.SESSION_CLOSED, kills=False),
    LifeEvent.EXPIRE: End(Life.EXPIRED, Reason.SESSION_EXPIRED, kills=False),
    LifeEvent.IDLE: End(Life.EXPIRED, Reason.SESSION_EXPIRED, kills=False),
    LifeEvent.DRAIN: End(Life.DRAINED, Reason.DRAINING, kills=False),
    LifeEvent.OVERRUN: End(Life.LOST, Reason.STEP_TIMEOUT, kills=True),
    LifeEvent.DIE: End(Life.LOST, Reason.SESSION_LOST, kills=True),
    LifeEvent.MISBEHAVE: End(Life.LOST, Reason.SESSION_LOST, kills=True),
}

ALIVE = (Life.MAKING, Life.LIVE)

TRANSITIONS: dict[tuple[Life, LifeEvent], Life] = {
    (Life.MAKING, LifeEvent.MADE): Life.LIVE,
    **{(life, event): end.life for life in ALIVE for event, end in ENDS.items()},
}

#: The reasons that clients get for ended sessions.
END_REASONS = frozenset(end.reason for end in ENDS.values())

#: Likely cause of a process's death, by signal.
_SUSPICIONS: dict[int, str] = {
    signal.SIGXCPU: "it used up its processor time (--max-session-cpu)",
    signal.SIGKILL: "this machine or container may be out of memory",
}


def describe_exit(status: int | None) -> str:
    """Describes how a process ended: "exited with status 1", "was killed by SIGSEGV".

    Args:
        status: Its exit status, negative for the signal that killed it; None if unknown.
    """
    if status is None:
        return "closed its connection"
    if status >= 0:
        return f"exited with status {status}"
    try:
        how = f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        how = f"was killed by signal {-status}"
    return how + (f" ({why})" if (why := _SUSPICIONS.get(-status)) else "")


class _Text(NamedTuple):
    """A message, and the facts in it that are also sent as metadata."""

    message: str
    metadata: tuple[str, ...] = ("session_id",)


_TEXTS: dict[LifeEvent, _Text] = {
    LifeEvent.CLOSE: _Text("session {session_id} was closed; make the environment again to go on"),
    LifeEvent.REVOKE: _Text(
        "session {session_id} was ended: the operator revoked {owner}, or took scope play from it. Ask the "
        "operator for another token"
    ),
    LifeEvent.TERMINATE: _Text(
        "session {session_id} was ended by the server's operator; ask why before you make the environment again"
    ),
    LifeEvent.EXPIRE: _Text(
        "session {session_id} ended: no stream and no request for its lease of {lease} s. Make the environment again, "
        "and ask for a longer lease or keep a stream open",
        ("session_id", "lease"),
    ),
    LifeEvent.IDLE: _Text(
        "session {session_id} ended: its client sent no request for {idle} s, as long as the operator lets it keep an "
        "environment unused (--max-idle). Make the environment again",
        ("session_id",),
    ),
    LifeEvent.DRAIN: _Text(
        "the server was stopped, and its time to finish is over. Once it runs again, or on another server, reset() "
        "makes the environment anew",
        (),
    ),
    LifeEvent.OVERRUN: _Text(
        "the environment did not answer within {timeout} s; its process was killed and session {session_id} is gone. "
        "The operator allows more time with {option}",
        ("session_id", "timeout"),
    ),
    LifeEvent.DIE: _Text(
        "the environment's process {how}; its session {session_id} is gone. The end of its output is in the details. "
        "Make the environment again to go on",
        ("session_id", "pid", "exit_status"),
    ),
    LifeEvent.MISBEHAVE: _Text(
        "the environment's process sent what is no answer and was killed; its session {session_id} is gone. Make the "
        "environment again to go on",
        ("session_id", "pid"),
    ),
}


def describe_end(event: LifeEvent, facts: Mapping[str, str]) -> FaultError:
    """Returns the error that a client gets for a session that an event ended.

    Args:
        event: The event.
        facts: Facts about the session, by name.
    """
    message, metadata = _TEXTS[event]
    return FaultError(
        ENDS[event].reason,
        message.format_map(facts),
        metadata={name: facts[name] for name in metadata},
    )
