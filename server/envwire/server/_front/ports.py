"""Errors for ports that cannot be bound, with what to do about it."""

from __future__ import annotations

import errno
import socket


def check_free(host: str, port: int) -> None:
    """Checks that a port is free, since gRPC's own error would not name the option.

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
        error: The system's error.
        zero: Meaning of 0 for the option.
    """
    if error.errno == errno.EADDRINUSE:
        return OSError(
            f"cannot bind {host}:{port}: the port is in use, by another server perhaps. Stop that, or give another: "
            f"{option} N, where 0 is {zero}"
        )
    return OSError(f"cannot bind {host}:{port} ({option}): {error}")
