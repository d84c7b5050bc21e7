"""Which connections of gRPC go through an HTTP proxy: by default none, as the direct channel's.

gRPC by itself takes the proxy of the environment variables for every server, also for one on this machine, which no
proxy can reach.
"""

from __future__ import annotations

import os

from envwire.client._transports.targets import addresses, ip_address_of
from envwire.client.credentials import Credentials

#: Variables that name a proxy, in the order in which gRPC reads them, and those that list the hosts without one.
_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy")
#: Ends of names that only a private network knows (RFC 6762, RFC 8375 and ICANN's reserved name).
_PRIVATE_ENDS = (".local", ".localhost", ".internal", ".home.arpa")


def proxy_variable(target: str, credentials: Credentials) -> str | None:
    """Returns the variable that names the proxy of connections to `target`; None if they are made without one.

    Args:
        target: HOST:PORT, or any gRPC name.
        credentials: Say whether proxies are used at all.
    """
    hosts = [host for host, _ in addresses(target)]
    if not credentials.http_proxy or not hosts or any(map(_is_direct, hosts)):
        return None
    return _first_set(_VARIABLES)


def _is_direct(host: str) -> bool:
    return _is_private(host) or _is_excepted(host)


def _is_private(host: str) -> bool:
    if ip := ip_address_of(host.partition("%")[0]):
        return ip.is_private or ip.is_loopback or ip.is_link_local
    return "." not in host or host.endswith(_PRIVATE_ENDS)


def _is_excepted(host: str) -> bool:
    variable = _first_set(_EXCEPTIONS)
    listed = os.environ[variable].split(",") if variable else []
    ends = [entry.strip().lstrip("*") for entry in listed]
    return any(end and host.endswith(end) for end in ends)


def _first_set(names: tuple[str, ...]) -> str | None:
    return next((name for name in names if os.environ.get(name)), None)
