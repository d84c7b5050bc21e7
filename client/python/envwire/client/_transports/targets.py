"""What a target names: the addresses behind the forms of gRPC's names that can be told without asking anybody."""

from __future__ import annotations

import ipaddress
import re

_TARGET = re.compile(r"(?:(dns|ipv4|ipv6|unix|unix-abstract):(?://[^/]*/)?)?(.*)")
_LOCAL = frozenset({"unix", "unix-abstract"})
#: What gRPC dials when no port is named.
_PORT = 443


def _parts(target: str) -> tuple[str | None, str]:
    found = _TARGET.fullmatch(target)
    return (found[1], found[2]) if found else (None, target)


def addresses(target: str) -> list[tuple[str, int]]:
    """Returns host and port of each address; none for a socket in the file system."""
    scheme, rest = _parts(target)
    return [] if scheme in _LOCAL else [_address(part) for part in rest.split(",")]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if host and port.isdigit() and (":" not in host or host.endswith("]")):
        return host.strip("[]"), int(port)
    return text.strip("[]"), _PORT


def is_local(target: str) -> bool:
    """Returns whether nothing that is sent to `target` leaves this machine."""
    return all(_is_loopback(host) for host, _ in addresses(target))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
