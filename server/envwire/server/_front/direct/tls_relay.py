"""Terminates TLS for direct channels in the front, so that session processes never hold the server's key.

Bytes are relayed over a socket pair, in both directions. The channel behind it is the same as without TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import cast


class _End(asyncio.Protocol):
    """One end of a relay, which writes what it receives to the other end, as fast as that accepts it."""

    def __init__(self) -> None:
        self._other: _End | None = None
        self._transport: asyncio.Transport | None = None

    def join(self, other: _End) -> None:
        """Begins to relay to the other end."""
        self._other = other
        if self._transport is not None:
            self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.pause_reading()  # until the other end exists

    def data_received(self, data: bytes) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.write(data)

    def pause_writing(self) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None
        if self._other is not None and self._other._transport is not None:
            self._other._transport.close()


class _ClientEnd(_End):
    """The end that faces the client.

    Args:
        client: The client's connection, as the relay's own descriptor.
    """

    def __init__(self, client: socket.socket) -> None:
        super().__init__()
        self._client = client

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # Closing is not enough: the session's `Presence` holds another descriptor of the connection.
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
        OSError: The handshake failed.
    """
    loop = asyncio.get_running_loop()
    client = connection.dup()
    outer, inner = _ClientEnd(client), _End()  # event loops differ in which protocol they return
    try:
        secure, _ = await loop.connect_accepted_socket(lambda: outer, connection, ssl=context)
    except BaseException:
        client.close()
        raise
    certificate = secure.get_extra_info("ssl_object").getpeercert(binary_form=True)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    ours.setblocking(False)
    await loop.create_connection(lambda: inner, sock=ours)
    outer.join(inner)
    inner.join(outer)
    return theirs, client, _subject(certificate)


def _subject(certificate: bytes | None) -> str:
    """Returns the subject of a certificate, in the form that gRPC uses."""
    if not certificate:
        return ""
    # Imported here, since it takes a tenth of a server's import time.
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(certificate).subject.rfc4514_string()
