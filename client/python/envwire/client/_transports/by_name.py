"""Creates transports by name: "direct", "stream", "unary"."""

from __future__ import annotations

import os
from collections.abc import Callable

from envwire.client._transports.resolving import pinned
from envwire.client._transports.targets import ConnectWait, checked, tell_port
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials

DEFAULT = "direct"

# Clients fork: AsyncVectorEnv makes one environment to read its spaces, then starts workers. Without its fork support,
# gRPC often hangs or crashes in them. gRPC reads this variable once, when it is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")


def _grpc(name: str, target: str, wait: ConnectWait, credentials: Credentials) -> Transport:
    from envwire.client._transports.grpc.grpc_transports import StreamTransport
    from envwire.client._transports.grpc.unary import UnaryTransport

    kinds: dict[str, Callable[..., Transport]] = {
        "unary": UnaryTransport,
        "stream": StreamTransport,
    }
    return kinds[name](target, wait, credentials)


def _direct(name: str, target: str, wait: ConnectWait, credentials: Credentials) -> Transport:
    from envwire.client._transports.direct.direct import DirectTransport

    def open_grpc(control: str, front: tuple[str, Credentials]) -> Transport:
        return _grpc(control, front[0], wait, front[1])

    return DirectTransport(target, name, open_grpc, credentials)


Opener = Callable[[str, str, ConnectWait, Credentials], Transport]

TRANSPORTS: dict[str, Opener] = {
    "unary": _grpc,
    "stream": _grpc,
    "direct": _direct,
    "direct-tcp": _direct,
    "direct-unix": _direct,
}


def open_transport(
    transport: str | Transport | None,
    target: str | None,
    connect_timeout: float | ConnectWait | None,
    credentials: Credentials | None = None,
    direct_port: int | None = None,
) -> Transport:
    """Opens a transport.

    Args:
        transport: A name, an open transport, or None for the default.
        target: The server; required for a transport by name.
        connect_timeout: Seconds to wait for the server, even one that has not started yet. None: 10 for a server that
            does not answer, and no wait if connections are refused.
        credentials: Certificates and token; by default from the ENVWIRE_* environment variables.
        direct_port: The server's direct port, if the caller knows it.

    Raises:
        TypeError: The target is not a string.
        ValueError: The name is unknown, or the target is missing or has no port.
        InvalidRequestError: The token would be sent without TLS over a network.
        ServerUnavailableError: No server answers, or no secure connection can be made.
    """
    if isinstance(transport, Transport):
        return transport
    name = transport or DEFAULT
    open_named = opener(name)
    if not target:
        raise ValueError(f"transport {name!r} needs a target, HOST:PORT")
    target = checked(target)
    credentials = credentials or Credentials()
    credentials.check_target(target)
    wait = ConnectWait.of(connect_timeout)
    address, credentials = pinned(target, wait, credentials)
    if direct_port is not None:
        tell_port(address, direct_port)
    return open_named(name, address, wait, credentials)


def opener(name: str) -> Opener:
    """Returns what opens the transport of a name, which it takes as its first argument.

    Raises:
        ValueError: The name is unknown.
    """
    if name not in TRANSPORTS:
        raise ValueError(f"unknown transport {name!r}; choose one of {', '.join(TRANSPORTS)}")
    return TRANSPORTS[name]
