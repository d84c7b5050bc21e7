"""An authenticated client, the scopes that its token grants, and the table of those that each request needs.

A token of scope join may register the servers of its patterns in a farm. A `*` in a pattern stands for characters of
one label: it does not reach over a dot, a colon or a bracket. A pattern of IP addresses matches no name, whose owner
chooses what is to the left of it: 10.0.1.* is not 10.0.1.evil.example.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum

from envwire.codec import FaultError, Reason
from envwire.farm.v1 import farm_pb2
from envwire.server._grammar import enumerated
from envwire.server._ipc.refusals import SESSION_REQUESTS
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


_ADMINS = frozenset({Scope.ADMIN})
_PLAYERS = _ADMINS | {Scope.PLAY}
_OBSERVERS = _ADMINS | {Scope.OBSERVE}

#: Scopes of which a request needs one. Requests that are not listed are for admins only. The last entries are for
#: farms and for watchers.
_SUFFICIENT: dict[str, frozenset[Scope]] = {
    "list_environments": _PLAYERS | _OBSERVERS,
    "get_server_info": _PLAYERS | _OBSERVERS,
    **dict.fromkeys(("make", "renew_lease", "get_session_stats", *SESSION_REQUESTS), _PLAYERS),
    "metrics": _OBSERVERS,
    "register": _ADMINS | {Scope.JOIN},
    "allocate": _PLAYERS,
    "locate": _PLAYERS | _OBSERVERS,
    "list_servers": _OBSERVERS,
    "list_groups": _OBSERVERS,
    "list_usage": _OBSERVERS,
    "list_sessions": _ADMINS | {Scope.INSPECT},
    "watch": _OBSERVERS | {Scope.INSPECT},
    "describe_session": _ADMINS | {Scope.WATCH},
    "watch_frames": _ADMINS | {Scope.WATCH},
}


#: Prefix of the name of a client with a token.
TOKEN_PREFIX = "token "  # noqa: S105 - no secret
#: Prefix of the name of a client with a gateway's ticket, unless its token is in the server's file as well.
FARM_PREFIX = "farm's "


@dataclass(frozen=True)
class Client:
    """An authenticated client.

    Attributes:
        name: Its name in limits and logs: "token alice", "certificate CN=agent", "address 192.0.2.7".
        scopes: What it may ask for.
        remedy: What to do if the scopes are not enough, for error messages.
        servers: The servers that it may register in a farm.
        ticket: The gateway's ticket that limits its Makes; None for no such limit.
        reservation: Id of the slots that the server reserves for its Makes.
        quota: How many slots of a farm it may hold; None if its token does not say.
        deadline: When it stops waiting for a Make, in seconds of the monotonic clock; infinity if it does not say.
    """

    name: str = "this machine"
    scopes: frozenset[Scope] = EVERYTHING
    remedy: str = "Use another token, or have the operator give this one the scope"
    servers: ServerPatterns = ANY_SERVER
    ticket: farm_pb2.Ticket | None = None
    reservation: bytes = b""
    quota: int | None = None
    deadline: float = math.inf

    def owns(self, owner: str) -> bool:
        """Returns whether a session belongs to this client: one that it made here, or with a gateway's ticket.

        A farm can know another client by the same name only if no tokens are used. Watching is then possible only on
        loopback, with the gateway on this machine, too.
        """
        return owner in (self.name, FARM_PREFIX + self.name)

    def check(self, kind: str) -> None:
        """Refuses a request that no scope of the client allows.

        Args:
            kind: The request's field in InteractRequest, or the name of a farm's method.

        Raises:
            FaultError: SCOPE_MISSING.
        """
        sufficient = _SUFFICIENT.get(kind, _ADMINS)
        if self.scopes.isdisjoint(sufficient):
            needed, held = _names(sufficient), _names(self.scopes)
            raise FaultError(
                Reason.SCOPE_MISSING,
                f"{self.name} may not ask for {kind}: that takes scope {enumerated(needed, 'or')}, and it has "
                f"{enumerated(held, 'and')}. {self.remedy}",
                metadata={"scopes": ",".join(needed)},
            )

    def check_server(self, server_id: str, address: str) -> None:
        """Refuses a server that this client may not register in a farm.

        Raises:
            FaultError: SCOPE_MISSING.
        """
        if refusal := self.servers.refusal(server_id, address):
            raise FaultError(
                Reason.SCOPE_MISSING,
                f"{self.name} may not register {refusal}. Use the server's own",
            )


#: A client in this process.
TRUSTED = Client()


def _names(scopes: frozenset[Scope]) -> list[str]:
    return sorted(scope.value for scope in scopes)
