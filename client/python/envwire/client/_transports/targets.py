"""Targets, HOST:PORT or any name that gRPC resolves, how long to wait for the servers there, and their direct ports.

A further session of a server whose direct port this program knows is made there, in two round trips. Over gRPC it takes
four to six: a connection, a question whether the server answers, the Make, and then the direct channel. A program that
never asked a server does not know its direct port, unless its user tells it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from envwire.client._errors import no_answer, nothing_listens
from envwire.codec.messages import LONGEST_SECONDS
from envwire.v1 import environment_pb2 as pb

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address


#: Default wait for a server that neither answers nor refuses.
_DEFAULT_SECONDS = 10.0


class ConnectWait(NamedTuple):
    """How long to wait for a server when connecting.

    Attributes:
        seconds: Seconds in all, over all attempts.
        refused: Whether to keep trying if connections are refused: the server may be about to start.
    """

    seconds: float
    refused: bool

    @classmethod
    def of(cls, connect_timeout: float | ConnectWait | None) -> ConnectWait:
        """Returns the wait for the option `connect_timeout`; only an explicit timeout waits for a server to start."""
        if isinstance(connect_timeout, ConnectWait):
            return connect_timeout
        if connect_timeout is None:
            return cls(_DEFAULT_SECONDS, refused=False)
        return cls(min(connect_timeout, LONGEST_SECONDS), refused=True)

    def check(self, target: str, left: float, refused: bool) -> None:
        """Checks after a failed attempt whether to make another one.

        Args:
            target: The server.
            left: Seconds left.
            refused: Whether the connection was refused.

        Raises:
            ServerUnavailableError: The time is up, or a refusal ends the wait.
        """
        if refused and (left <= 0 or not self.refused):
            raise nothing_listens(target)
        if left <= 0:
            raise no_answer(target, self.seconds)


_TARGET = re.compile(r"(?:(dns|ipv4|ipv6|unix|unix-abstract):(?://[^/]*/)?)?(.*)")
_WEB = re.compile(r"https?://(?P<rest>[^/]*).*", re.IGNORECASE)
_HAS_PORT = re.compile(r"[^:]:\d{1,5}$")
_EXAMPLE = "localhost:50051"
_LOCAL = frozenset({"unix", "unix-abstract"})
#: The port that gRPC uses if none is given.
_PORT = 443


def _parts(target: str) -> tuple[str | None, str]:
    found = _TARGET.fullmatch(target)
    return (found[1], found[2]) if found else (None, target)


def checked(target: object) -> str:
    """Returns the target, if it can be dialled.

    Raises:
        TypeError: It is not a string.
        ValueError: It is an HTTP URL, or has no port.
    """
    if not isinstance(target, str):
        raise TypeError(
            f"the target {target!r} is not a string; name a server as HOST:PORT, '{_EXAMPLE}'"
        )
    web = _WEB.fullmatch(target)
    if web is not None:
        raise ValueError(
            f"the target {target!r} is a URL; leave out the scheme, {web['rest'] or _EXAMPLE!r}. For TLS, set the "
            "variable ENVWIRE_CA or pass Credentials"
        )
    scheme, rest = _parts(target)
    if scheme is None and "://" not in target and not _HAS_PORT.search(rest):
        example = _EXAMPLE if not target or ":" in target else f"{target}:50051"
        raise ValueError(f"the target {target!r} names no port; write HOST:PORT, {example!r}")
    host, _, port = rest.rpartition(":")
    if scheme is None and ":" in host and ip_address_of(host):
        raise ValueError(
            f"the target {target!r} is an IPv6 address without brackets; write '[{host}]:{port}'"
        )
    return target


def addresses(target: str) -> list[tuple[str, int]]:
    """Returns the host and port of each address; none for a Unix socket."""
    scheme, rest = _parts(target)
    return [] if scheme in _LOCAL else [_address(part) for part in rest.split(",")]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if host and port.isdigit() and (":" not in host or host.endswith("]")):
        return host.strip("[]"), int(port)
    return text.strip("[]"), _PORT


def is_local(target: str) -> bool:
    """Returns whether all addresses of a target are on this machine."""
    hosts = [host for host, _ in addresses(target)]
    return all(
        host == "localhost" or ((ip := ip_address_of(host)) and ip.is_loopback) for host in hosts
    )


def ip_address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Returns the IP address that a host is; None if it is a name."""
    import ipaddress

    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


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
