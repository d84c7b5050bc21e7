"""HOST:PORT, at which a server is dialled, and the options of all gRPC channels to servers and gateways.

Peers dial what others name as an address, so it must not be anything else that gRPC or a resolver would take: "unix:1"
is a socket in the file system, "10.1:1" is 10.0.0.1, and "one:1,two:1" are two.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

_ADDRESS = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[^:]+)):(?P<port>[1-9][0-9]{0,4})")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
#: The last label of what resolvers take for a number.
_NUMBER = re.compile(r"[0-9]+|0[Xx][0-9A-Fa-f]*")
#: Schemes of gRPC, which would take "dns:1" for the host 1.
_SCHEMES = frozenset({"dns", "ipv4", "ipv6", "unix", "unix-abstract", "vsock", "xds", "google-c2p"})
_LONGEST_NAME = 253
_LAST_PORT = 65535


class Address(NamedTuple):
    """The parts of an address.

    Attributes:
        host: A name, or an IP address in its usual form, with brackets if it is an IPv6 address.
        port: The port.
        is_ip: Whether the host is an IP address.
    """

    host: str
    port: str
    is_ip: bool


def parse_address(text: str) -> Address | None:
    """Returns the parts of HOST:PORT; None if the text is anything else."""
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > _LAST_PORT:
        return None
    try:
        if found["ipv6"]:
            return Address(f"[{IPv6Address(found['ipv6'])}]", found["port"], True)
        if _NUMBER.fullmatch(found["host"].rpartition(".")[2]):
            return Address(str(IPv4Address(found["host"])), found["port"], True)
    except ValueError:
        return None
    return Address(found["host"], found["port"], False) if _is_name(found["host"]) else None


def _is_name(host: str) -> bool:
    known = len(host) <= _LONGEST_NAME and _NAME.fullmatch(host) is not None
    return known and host.lower() not in _SCHEMES


#: No connection goes through the proxy of http_proxy and its like, which gRPC takes by default, even to this machine.
NO_PROXY = ("grpc.enable_http_proxy", 0)
