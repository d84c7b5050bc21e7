"""Pins a session to one resolved address, because a name may resolve to many servers and only one has the session.

gRPC and the direct channel would resolve the name for each new connection, and each could reach another server.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import replace

from envwire.client._transports.proxies import proxy_variable
from envwire.client._transports.resolving import resolve
from envwire.client._transports.targets import ConnectWait, addresses, ip_address_of
from envwire.client.credentials import Credentials

#: Bounds the delay that an unresponsive host adds before the next address is tried.
_CONNECT_SECONDS = 1.0
_PAUSE_SECONDS = 0.1


def pinned(target: str, wait: ConnectWait, credentials: Credentials) -> tuple[str, Credentials]:
    """Returns the first address of a name that accepts connections.

    Args:
        target: HOST:PORT, or any gRPC name.
        wait: How long to wait for an address that accepts connections.
        credentials: Certificates and token.

    Returns:
        The address as HOST:PORT, and credentials that expect a certificate for the name. Both arguments unchanged if
        there is only one address, or gRPC resolves the name in its own way.

    Raises:
        ServerUnavailableError: No address accepts connections.
    """
    named = addresses(target)
    # A proxy resolves names itself.
    if _is_settled(target, named) or proxy_variable(target, credentials):
        return target, credentials
    deadline = time.monotonic() + wait.seconds
    found = list(_resolved(named, deadline))
    if not found:
        return target, credentials
    host, port = _first_that_listens(found, deadline, target, wait)
    name = _name(named[0], credentials) if len(named) == 1 else None
    return _joined(host, port), replace(
        credentials, override_authority=credentials.override_authority or name
    )


def _is_settled(target: str, named: list[tuple[str, int]]) -> bool:
    """Returns whether there is only one address, or names are not resolved by this machine."""
    if not named or (len(named) == 1 and _is_numeric(named[0][0])):
        return True
    return "://" in target and ":///" not in target


def _is_numeric(host: str) -> bool:
    return ip_address_of(host.partition("%")[0]) is not None


def _resolved(named: list[tuple[str, int]], deadline: float) -> Iterator[tuple[str, int]]:
    """Yields the addresses of hosts in the resolver's order; none of one that it does not find in time."""
    for host, port in named:
        with contextlib.suppress(OSError):
            for *_, at in resolve(host, port, max(deadline - time.monotonic(), _PAUSE_SECONDS)):
                yield str(at[0]), port


def _first_that_listens(
    found: list[tuple[str, int]], deadline: float, target: str, wait: ConnectWait
) -> tuple[str, int]:
    while True:
        refused = True
        for address in found:
            left = max(deadline - time.monotonic(), _PAUSE_SECONDS)
            try:
                socket.create_connection(address, min(left, _CONNECT_SECONDS)).close()
            except OSError as error:
                refused = refused and isinstance(error, ConnectionRefusedError)
            else:
                return address
        left = deadline - time.monotonic()
        wait.check(target, left, refused)
        time.sleep(min(_PAUSE_SECONDS, left))


def _name(named: tuple[str, int], credentials: Credentials) -> str:
    """Returns the authority of the server; for TLS without the port, which certificates do not name."""
    return named[0] if credentials.secure else _joined(*named)


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
