"""Ports that are taken, in words that say what to do."""

from __future__ import annotations

import errno
import socket


def check_free(host: str, port: int) -> None:
    """Checks that nothing else listens on a port: gRPC would log a line of its own and not name the option.

    Raises:
        OSError: The port is in use.
    """
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                raise cannot_bind(host, port, "--port", error) from error


def cannot_bind(
    host: str, port: int, option: str, error: OSError, zero: str = "any free one"
) -> OSError:
    """Returns the error for an address that cannot be bound.

    Args:
        host: The address.
        port: The port.
        option: The option that names the port.
        error: What the system said.
        zero: What 0 means for the option.
    """
    if error.errno == errno.EADDRINUSE:
        return OSError(
            f"cannot bind {host}:{port}: the port is in use, by another server perhaps. Stop that, or give another: "
            f"{option} N, where 0 is {zero}"
        )
    return OSError(f"cannot bind {host}:{port} ({option}): {error}")
