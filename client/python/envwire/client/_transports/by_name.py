"""Creates transports by name: "direct", "stream", "unary"."""

from __future__ import annotations

import os
from collections.abc import Callable

from envwire.client._transports.connect_wait import ConnectWait
from envwire.client._transports.pinning import pinned
from envwire.client._transports.targets import checked
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.v1 import environment_pb2 as pb

DEFAULT = "direct"

# Agents fork: AsyncVectorEnv makes an environment to look at, then starts workers. gRPC often hangs or crashes there
# without its fork support. It reads this once, when it is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")


def _unary(target: str, wait: ConnectWait, credentials: Credentials) -> Transport:
    from envwire.client._transports.grpc.grpc_transports import UnaryTransport

    return UnaryTransport(target, wait, credentials)


def _stream(target: str, wait: ConnectWait, credentials: Credentials) -> Transport:
    from envwire.client._transports.grpc.grpc_transports import StreamTransport

    return StreamTransport(target, wait, credentials)


Opener = Callable[[str, ConnectWait, Credentials], Transport]


def _direct(kind: str) -> Opener:
    def open_direct(target: str, wait: ConnectWait, credentials: Credentials) -> Transport:
        from envwire.client._transports.direct.direct import DirectTransport

        def open_grpc(name: str, made: pb.MakeResponse | None) -> Transport:
            from envwire.client._transports.grpc.grpc_transports import (
                StreamTransport,
                UnaryTransport,
            )

            kind = StreamTransport if name == "stream" else UnaryTransport
            opened = kind(target, wait, credentials)
            if made is not None:
                opened.follow(made)
            return opened

        return DirectTransport(target, kind, open_grpc, credentials)

    return open_direct


TRANSPORTS: dict[str, Opener] = {
    "unary": _unary,
    "stream": _stream,
    "direct": _direct("direct"),
    "direct-tcp": _direct("direct-tcp"),
    "direct-unix": _direct("direct-unix"),
}


def open_transport(
    transport: str | Transport | None,
    target: str | None,
    connect_timeout: float | ConnectWait | None,
    credentials: Credentials | None = None,
) -> Transport:
    """Opens the transport that was asked for.

    Args:
        transport: A name, an open transport, or None for the default.
        target: The server; needed for a transport by name.
        connect_timeout: Seconds to wait for the server, also for one that is not started yet; None waits for one that
            is silent, and not where nothing listens.
        credentials: Certificates and token; by default those that environment variables name.

    Raises:
        TypeError: The target is no text.
        ValueError: The name is unknown, or the target is missing or cannot be dialled.
        InvalidRequestError: The token would go where others can read it.
        ServerUnavailableError: No server answers, or no secure connection to it comes about.
    """
    if isinstance(transport, Transport):
        return transport
    name = transport or DEFAULT
    if name not in TRANSPORTS:
        raise ValueError(f"unknown transport {name!r}; choose one of {', '.join(TRANSPORTS)}")
    if not target:
        raise ValueError(f"transport {name!r} needs a target, HOST:PORT")
    target = checked(target)
    credentials = credentials or Credentials()
    credentials.check_target(target)
    wait = (
        connect_timeout
        if isinstance(connect_timeout, ConnectWait)
        else ConnectWait.of(connect_timeout)
    )
    address, credentials = pinned(target, wait, credentials)
    return TRANSPORTS[name](address, wait, credentials)
