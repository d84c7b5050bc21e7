"""Runs TLS of direct channels in the front, so that session processes never hold the server's key.

Bytes are relayed over a socket pair, in both directions. The channel behind it is the same as without TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from envwire.server._front.pipe import PipeEnd

_Relayed: TypeAlias = tuple[socket.socket, socket.socket, asyncio.Transport]
_Handshake: TypeAlias = Callable[[Callable[[], PipeEnd]], Coroutine[Any, Any, Any]]


class _ClientEnd(PipeEnd):
    """The end that faces the client.

    Args:
        client: The client's connection, as the relay's own descriptor.
    """

    def __init__(self, client: socket.socket) -> None:
        super().__init__()
        self._client = client

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # Closing is not enough: the session's `ConnectionMonitor` holds another descriptor of the connection.
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)
        self._client.close()


async def end_tls(
    connection: socket.socket, context: ssl.SSLContext
) -> tuple[socket.socket, socket.socket, str]:
    """Performs the TLS handshake with a client, and relays from then on.

    Returns:
        A plain socket to the client, the socket that TLS runs over (owned by the relay), and the subject of the
        client's certificate.

    Args:
        connection: The client's connection; the relay takes ownership.
        context: The server's certificates.

    Raises:
        OSError: The handshake failed, or no more files can be opened.
    """
    loop = asyncio.get_running_loop()
    plain, client, secure = await _relayed(
        connection, lambda outer: loop.connect_accepted_socket(outer, connection, ssl=context)
    )
    certificate = secure.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return plain, client, _subject(certificate)


async def begin_tls(
    connection: socket.socket, context: ssl.SSLContext, host: str
) -> tuple[socket.socket, socket.socket]:
    """Performs the TLS handshake with a server, as its client, and relays from then on.

    Returns:
        A plain socket to the server, and the socket that TLS runs over (owned by the relay).

    Args:
        connection: The connection to the server; the relay takes ownership.
        context: The authorities that are trusted.
        host: The name that the server's certificate has to cover.

    Raises:
        OSError: The handshake failed, or no more files can be opened.
    """
    loop = asyncio.get_running_loop()
    plain, far, _ = await _relayed(
        connection,
        lambda outer: loop.create_connection(
            outer, sock=connection, ssl=context, server_hostname=host
        ),
    )
    return plain, far


async def _relayed(connection: socket.socket, shake_hands: _Handshake) -> _Relayed:
    """Returns a plain socket to the other side of a connection, the one that TLS runs over, and its transport."""
    loop = asyncio.get_running_loop()
    client = connection.dup()
    outer, inner = _ClientEnd(client), PipeEnd()  # event loops differ in which protocol they return
    try:
        secure, _ = await shake_hands(lambda: outer)
    except BaseException:
        client.close()
        raise
    try:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        ours.setblocking(False)
        await loop.create_connection(lambda: inner, sock=ours)
    except BaseException:
        secure.abort()
        raise
    outer.join(inner)
    return theirs, client, secure


def _subject(certificate: bytes | None) -> str:
    """Returns the subject of a certificate, in the form that gRPC uses."""
    if not certificate:
        return ""
    # Imported here, since it takes a tenth of a server's import time.
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(certificate).subject.rfc4514_string()
