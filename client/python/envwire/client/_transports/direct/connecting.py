"""Connects to an address of a direct channel: a Unix socket, plain TCP, or TLS."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from functools import partial

from envwire.client._transports.direct.direct_channel import Channel, TimedChannel
from envwire.client._transports.portability import KERNEL_TIMES, LIVENESS

#: Prefix of the addresses of Unix sockets.
UNIX = "unix-abstract:"


def connect(
    address: str,
    timeout: float,
    context: ssl.SSLContext | None,
    authority: str | None,
    begun: Callable[[socket.socket], None],
) -> Channel:
    """Connects to an address.

    Args:
        address: "unix-abstract:NAME" or HOST:PORT.
        timeout: Seconds to wait for a TCP connection.
        context: TLS settings for TCP; None for a plain connection.
        authority: The name in the server's certificate, if it is not the host.
        begun: Called with each socket before it connects; shutting that socket down ends the wait.

    Raises:
        OSError: Nothing answers there, or the certificate is not the server's.
    """
    if address.startswith(UNIX):
        return Channel(_connect_unix(address.removeprefix(UNIX), begun))
    if context is None:
        connection = _connect_tcp(address, timeout, begun)
        return Channel(connection) if KERNEL_TIMES else TimedChannel(connection)
    name = authority or address.rpartition(":")[0]
    secure = partial(context.wrap_socket, server_hostname=name)
    return TimedChannel(_connect_tcp(address, timeout, begun, secure))


def _connect_unix(name: str, begun: Callable[[socket.socket], None]) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        begun(connection)
        connection.connect(f"\0{name}")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_tcp(
    address: str,
    timeout: float,
    begun: Callable[[socket.socket], None],
    secure: Callable[[socket.socket], socket.socket] | None = None,
) -> socket.socket:
    """Connects to the first address of a host that answers, as `socket.create_connection` does.

    The socket is wrapped in TLS before it connects: on a connection that has just been reset, `wrap_socket` fails and
    leaks the socket.
    """
    host, _, port = address.rpartition(":")
    failure = OSError(f"{host} has no address")
    found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    for family, kind, protocol, _, at in found:
        connection = socket.socket(family, kind, protocol)
        try:
            connection = connection if secure is None else secure(connection)
            connection.settimeout(timeout)
            begun(connection)
            connection.connect(at)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in LIVENESS:
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure
