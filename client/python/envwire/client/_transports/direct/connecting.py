"""Connects to an address of a direct channel: a Unix socket, plain TCP, or TLS."""

from __future__ import annotations

import socket
import ssl

from envwire.client._transports.direct.direct_channel import Channel, TimedChannel
from envwire.client._transports.portability import KERNEL_TIMES, LIVENESS

#: Prefix of the addresses of Unix sockets.
UNIX = "unix-abstract:"


def connect(
    address: str, timeout: float, context: ssl.SSLContext | None, authority: str | None
) -> Channel:
    """Connects to an address.

    Args:
        address: "unix-abstract:NAME" or HOST:PORT.
        timeout: Seconds to wait for a TCP connection.
        context: TLS settings for TCP; None for a plain connection.
        authority: The name in the server's certificate, if it is not the host.

    Raises:
        OSError: Nothing answers there, or the certificate is not the server's.
    """
    if address.startswith(UNIX):
        return Channel(_connect_unix(address.removeprefix(UNIX)))
    connection = _connect_tcp(address, timeout)
    if context is None:
        return Channel(connection) if KERNEL_TIMES else TimedChannel(connection)
    name = authority or address.rpartition(":")[0]
    return TimedChannel(context.wrap_socket(connection, server_hostname=name))


def _connect_unix(name: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(f"\0{name}")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_tcp(address: str, timeout: float) -> socket.socket:
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in LIVENESS:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    return connection
