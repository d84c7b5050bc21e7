"""End reasons: the text and metadata that clients get for each event that ends a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from envwire.codec import FaultError
from envwire.server._front.sessions.life import ENDS, Event


class _Text(NamedTuple):
    """A message, and the facts in it that are also sent as metadata."""

    message: str
    metadata: tuple[str, ...] = ("session_id",)


_TEXTS: dict[Event, _Text] = {
    Event.CLOSE: _Text("session {session_id} was closed; make the environment again to go on"),
    Event.REVOKE: _Text(
        "session {session_id} was ended: the operator revoked {owner}, or took scope play from it. Ask the "
        "operator for another token"
    ),
    Event.TERMINATE: _Text(
        "session {session_id} was ended by the server's operator; ask why before you make the environment again"
    ),
    Event.EXPIRE: _Text(
        "session {session_id} ended: no stream and no request for its lease of {lease} s. Make the environment again, "
        "and ask for a longer lease or keep a stream open",
        ("session_id", "lease"),
    ),
    Event.DRAIN: _Text(
        "the server was stopped, and its time to finish is over. Once it runs again, or on another server, reset() "
        "makes the environment anew",
        (),
    ),
    Event.OVERRUN: _Text(
        "the environment did not answer within {timeout} s; its process was killed and session {session_id} is gone. "
        "The operator allows more time with --step-timeout (--make-timeout while it is made)",
        ("session_id", "timeout"),
    ),
    Event.DIE: _Text(
        "the environment's process {how}; its session {session_id} is gone. The end of its output is in the details. "
        "Make the environment again to go on",
        ("session_id", "pid", "exit_status"),
    ),
    Event.MISBEHAVE: _Text(
        "the environment's process sent what is no answer and was killed; its session {session_id} is gone. Make the "
        "environment again to go on",
        ("session_id", "pid"),
    ),
}


def describe_end(event: Event, facts: Mapping[str, str]) -> FaultError:
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
