"""What a token grants: scopes, and the servers that a token of scope join may register in a farm.

A `*` in a pattern of servers stands for characters of one label: it does not reach over a dot, a colon or a bracket. A
pattern of IP addresses matches no name, whose owner chooses what is to the left of it: 10.0.1.* is not
10.0.1.evil.example.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from envwire.wire.addresses import parse_address


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


_ADDRESS = re.compile(r"(?P<host>[^:]+|\[[^\[\]]+\]):(?P<port>[0-9*]+)")
_DIGITS = re.compile(r"[0-9*.]*")
_FOUR = re.compile(r"(?:[0-9*]+\.){3}[0-9*]+")
_ANY_NAME = "*"


@dataclass(frozen=True)
class ServerPatterns:
    """The servers that a token may register; without patterns, any.

    Attributes:
        servers: Patterns of ids.
        addresses: Patterns of HOST:PORT.

    Raises:
        ValueError: A pattern matches no address.
    """

    servers: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuses patterns of addresses that match none."""
        for pattern in self.addresses:
            found = _ADDRESS.fullmatch(pattern)
            if not found or (_is_of_ips(found["host"]) and not _may_be_ip(found["host"])):
                raise ValueError(
                    "a pattern of addresses is HOST:PORT, and that of an IPv4 address has four numbers: 10.0.*.*:50051"
                )

    def refusal(self, server_id: str, address: str) -> str:
        """Returns why a server may not be registered; "" if it may.

        Args:
            server_id: The id that the server registers with.
            address: HOST:PORT at which clients would reach it.
        """
        if self.servers and not any(_matches(each, server_id) for each in self.servers):
            return (
                f"a server with the id {server_id!r}; its token is for {' or '.join(self.servers)}"
            )
        if self.addresses and not any(_covers(each, address) for each in self.addresses):
            return f"a server at {address}; its token is for {' or '.join(self.addresses)}"
        return ""


ANY_SERVER = ServerPatterns()


def _is_of_ips(host: str) -> bool:
    return host.startswith("[") or (host != _ANY_NAME and _DIGITS.fullmatch(host) is not None)


def _may_be_ip(host: str) -> bool:
    return host.startswith("[") or _FOUR.fullmatch(host) is not None


def _covers(pattern: str, text: str) -> bool:
    address = parse_address(text)
    host, _, port = pattern.rpartition(":")
    if address is None or address.is_ip is not _is_of_ips(host):
        return False
    usual = parse_address(f"{host}:1")  # None with a star in it
    return _matches(usual.host if usual else host, address.host) and _matches(port, address.port)


def _matches(pattern: str, text: str) -> bool:
    parts = map(re.escape, pattern.split("*"))
    return re.fullmatch(r"[^.:\[\]]*".join(parts), text) is not None
