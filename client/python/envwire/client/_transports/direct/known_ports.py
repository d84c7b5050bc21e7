"""The direct ports of servers that this program has reached: a further session is made there, in two round trips.

Over gRPC it takes four to six: a connection, a question whether the server answers, the Make, and then the direct
channel. A program that never asked a server does not know its direct port, unless its user tells it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from envwire.v1 import environment_pb2 as pb

#: The capability of a server that makes sessions on its direct port.
_MAKE = "make"
#: The capability of a session that is reached through a gateway only.
RELAYED = "relayed"
_MOST = 1024


class KnownPort(NamedTuple):
    """A direct port, and the run of the server that had it; empty for whichever server is there."""

    address: str
    incarnation: str


_ports: dict[str, KnownPort] = {}


def known_port(target: str) -> KnownPort | None:
    """Returns the direct port of the server at a target, if this program knows it."""
    return _ports.get(target)


def learn_port(
    target: str, address: str, made: pb.MakeResponse, abilities: Collection[str]
) -> None:
    """Remembers the direct port of a server that made a session itself, at the target that was asked.

    One that the client followed to another target could have named any server, whose clients would then show their
    tokens to it.

    Args:
        target: The target.
        address: Where the session's channel was opened: others may be behind a firewall.
        made: The answer to the Make.
        abilities: What the server at the target says that it can do.
    """
    tcp = address.rpartition(":")[2].isdecimal()
    elsewhere = made.address not in {"", target} or RELAYED in made.capabilities
    if tcp and not elsewhere and _MAKE in abilities and len(_ports) < _MOST:
        _ports[target] = KnownPort(address, made.incarnation)


def tell_port(target: str, port: int) -> None:
    """Remembers a direct port that the user named, unless this program has learned one."""
    if len(_ports) < _MOST:
        _ports.setdefault(target, KnownPort(f":{port}", ""))


def forget_port(target: str) -> None:
    """Forgets a port at which the server is no more."""
    _ports.pop(target, None)
