"""Errors for ports that cannot be bound, with what to do about it, and the options of connections."""

from __future__ import annotations

import errno
import socket

#: Options for detecting a client whose machine is gone: idle seconds, seconds between probes, number of probes.
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))


def set_options(connection: socket.socket) -> None:
    """Has a client's connection send at once, and notice that the client's machine is gone."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def check_free(host: str, port: int) -> None:
    """Checks that a port is free, since gRPC's own error would not name the option.

    Raises:
        OSError: The port is in use, or the address is not this machine's.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
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
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return OSError(
            f"cannot bind {host}:{port}: {host} is not an address of this machine; give one as --host, 0.0.0.0 for all"
        )
    return OSError(f"cannot bind {host}:{port} ({option}): {error.strerror}")
