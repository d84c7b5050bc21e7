"""Where connections go: names resolved within a time limit, one address for each session, and proxies of gRPC.

The system's resolver has no time limit. A name may resolve to many servers and only one has the session, so a session
is pinned to one address: gRPC and the direct channel would resolve the name for each new connection. gRPC by itself
takes the proxy of the environment variables for every server, also for one on this machine, which no proxy can reach;
here it takes none unless it is asked to, as the direct channel does.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from envwire.client._transports.targets import ConnectWait, addresses, ip_address_of
from envwire.client.credentials import Credentials

#: As of `socket.getaddrinfo`: family, type, protocol, canonical name, address.
Found = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]


def resolve(host: str, port: int, timeout: float) -> Sequence[Found]:
    """Returns the addresses of a host, in the resolver's order.

    Args:
        host: A name, or an address, which needs no resolver.
        port: The port.
        timeout: Seconds to wait for the resolver.

    Raises:
        OSError: There is none, or the resolver does not answer in time.
    """
    try:
        return _ask(host, port, socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass
    answers: SimpleQueue[Sequence[Found] | OSError] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_ask(host, port))
        except (OSError, UnicodeError) as error:  # a label of more than 63 characters
            answers.put(error if isinstance(error, OSError) else OSError(f"{host!r}: {error}"))

    threading.Thread(target=ask, name="envwire-resolver", daemon=True).start()
    try:
        found = answers.get(timeout=timeout)
    except Empty:
        raise TimeoutError(f"no resolver answers for {host} within {timeout:.3g} s") from None
    if isinstance(found, OSError):
        raise found
    return found


def connect(host: str, port: int, timeout: float) -> socket.socket:
    """Connects to the first address of a host that answers, as `socket.create_connection`, but in one time limit.

    Raises:
        OSError: None answers in time.
    """
    end = time.monotonic() + timeout
    failure: OSError = TimeoutError("timed out")
    for *_, address in resolve(host, port, timeout):
        if (left := end - time.monotonic()) <= 0:
            break
        try:
            return socket.create_connection((address[0], port), left)
        except OSError as error:
            failure = error
    raise failure


def _ask(host: str, port: int, flags: int = 0) -> Sequence[Found]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)


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
