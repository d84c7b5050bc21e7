"""Checks and parses targets: HOST:PORT and gRPC names that need no resolver."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

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
