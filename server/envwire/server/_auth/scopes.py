"""What a token grants: its scopes, and for scope join the servers that it may register in a farm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase


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


@dataclass(frozen=True)
class ServerPatterns:
    """The servers that a token may register; without patterns, any.

    Attributes:
        servers: Patterns of ids, in which `*` stands for any characters.
        addresses: Patterns of HOST:PORT.
    """

    servers: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()

    def refusal(self, server_id: str, address: str) -> str:
        """Returns why a server may not be registered; "" if it may.

        Args:
            server_id: The id that the server registers with.
            address: HOST:PORT at which clients would reach it.
        """
        if not _is_listed(server_id, self.servers):
            return (
                f"a server with the id {server_id!r}; its token is for {' or '.join(self.servers)}"
            )
        if not _is_listed(address, self.addresses):
            return f"a server at {address}; its token is for {' or '.join(self.addresses)}"
        return ""


ANY_SERVER = ServerPatterns()


def _is_listed(value: str, patterns: tuple[str, ...]) -> bool:
    """Returns whether a pattern matches, or there is none. Brackets, as in IPv6 addresses, are literal."""
    escaped = (pattern.replace("[", "[[]") for pattern in patterns)
    return not patterns or any(fnmatchcase(value, pattern) for pattern in escaped)
