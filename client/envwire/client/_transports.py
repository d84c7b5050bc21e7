"""The transports by name."""

from __future__ import annotations

import os
from collections.abc import Callable

from envwire.client._transport import Transport

DEFAULT = "stream"

# Agents fork: AsyncVectorEnv makes an environment to look at, then starts workers. gRPC often hangs or crashes there
# without its fork support, and rarely with it. It reads this once, when it is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")


def _unary(target: str, connect_timeout: float) -> Transport:
    from envwire.client._grpc import UnaryTransport

    return UnaryTransport(target, connect_timeout)


def _stream(target: str, connect_timeout: float) -> Transport:
    from envwire.client._grpc import StreamTransport

    return StreamTransport(target, connect_timeout)


TRANSPORTS: dict[str, Callable[[str, float], Transport]] = {"unary": _unary, "stream": _stream}


def open_transport(
    transport: str | Transport | None, target: str | None, connect_timeout: float
) -> Transport:
    """Opens the transport that was asked for.

    Args:
        transport: A name, an open transport, or None for the default.
        target: The server; needed for a transport by name.
        connect_timeout: Seconds to wait for the server.

    Raises:
        ValueError: The name is unknown, or there is no target.
        ServerUnavailableError: No server answers.
    """
    if isinstance(transport, Transport):
        return transport
    name = transport or DEFAULT
    if name not in TRANSPORTS:
        raise ValueError(f"unknown transport {name!r}; choose one of {', '.join(TRANSPORTS)}")
    if not target:
        raise ValueError(f"transport {name!r} needs a target, HOST:PORT")
    return TRANSPORTS[name](target, connect_timeout)
