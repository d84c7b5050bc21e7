"""The scopes of tokens: what a client may ask for."""

from __future__ import annotations

from enum import Enum


class Scope(str, Enum):
    """What a token is for."""

    PLAY = "play"
    """Making environments and driving them."""
    OBSERVE = "observe"
    """Seeing what the server offers and how it is."""
    JOIN = "join"
    """Joining a farm, as a server."""
    ADMIN = "admin"
    """Everything."""


EVERYTHING = frozenset(Scope)
ORDINARY = frozenset({Scope.PLAY, Scope.OBSERVE})
#: Each of them is enough to drive a session.
PLAYING = frozenset({Scope.PLAY, Scope.ADMIN})
