"""The scopes that a token grants."""

from __future__ import annotations

from enum import Enum


class Scope(str, Enum):
    """A permission that a token grants."""

    PLAY = "play"
    """Making environments and driving them."""
    OBSERVE = "observe"
    """Listing the server's environments and reading its state."""
    INSPECT = "inspect"
    """Listing the sessions of all clients."""
    JOIN = "join"
    """Joining a farm, as a server."""
    WATCH = "watch"
    """Seeing pictures and output of one's own sessions, or of all if the operator allows it."""
    ADMIN = "admin"
    """Everything."""


EVERYTHING = frozenset(Scope)
#: Scopes of clients without a token, at a public address and at one that only this machine can reach. A hostile
#: environment can become such a client of its own server, so no client is an operator without a token.
DEFAULT_SCOPES = frozenset({Scope.PLAY, Scope.OBSERVE})
LOCAL = EVERYTHING - {Scope.ADMIN}
#: Scopes of which each is enough to drive a session.
PLAY_SCOPES = frozenset({Scope.PLAY, Scope.ADMIN})
