"""Relays bytes between two connections, each as fast as the other accepts them.

The front runs TLS of direct channels in such a pipe, so that session processes never hold the server's key: bytes are
relayed over a socket pair, and the channel behind it is the same as without TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, cast

#: How long a closed end may take to deliver what it still holds, in seconds: a peer that reads nothing, and does not
#: close, would keep its descriptor for ever.
_LINGER_SECONDS = 30.0


class PipeEnd(asyncio.Protocol):
    """One end of a pipe, which writes what it receives to the other end; when one is closed, the other is as well."""

    def __init__(self) -> None:
        self._other: PipeEnd | None = None
        self._transport: asyncio.Transport | None = None
        self._early = bytearray()
        self._arrival: asyncio.Future[None] | None = None

    async def read(self, length: int) -> bytes:
        """Reads a number of bytes from this end, before it is joined to another one.

        Raises:
            ConnectionError: The connection ended before.
        """
        while len(self._early) < length:
            if self._transport is None:
                raise ConnectionError("the connection ended")
            self._arrival = asyncio.get_running_loop().create_future()
            self.resume_reading()
            await self._arrival
        data = bytes(self._early[:length])
        del self._early[:length]
        return data

    def write(self, data: bytes) -> None:
        """Writes to this end's own connection."""
        if self._transport is not None:
            self._transport.write(data)

    def close(self) -> None:
        """Closes this end, and with it the other one; what was written before is still delivered."""
        if self._transport is None:
            return
        self._transport.close()
        if self._transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._transport.abort)

    def join(self, other: PipeEnd) -> None:
        """Begins to relay between this end and another one."""
        # Both know each other before either writes: what came early may be more than the other end accepts.
        self._other, other._other = other, self
        self._begin()
        other._begin()

    def _begin(self) -> None:
        """Begins to relay to the other end; closes it if this one is closed already."""
        if self._transport is None:
            self._close_other()
        self.resume_reading()
        if self._early:
            early, self._early = bytes(self._early), bytearray()
            self.relay(early)  # which pauses reading again if the other end does not keep up

    def pause_reading(self) -> None:
        """Reads no more until the other end accepts more."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Reads on, now that the other end accepts more."""
        if self._transport is not None:
            self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.pause_reading()  # until the other end exists

    def data_received(self, data: bytes) -> None:
        self.relay(data)

    def relay(self, data: bytes) -> None:
        """Writes what was received to the other end."""
        if self._other is None:
            self._early += (
                data  # uvloop begins to read after connection_made, even if that paused it
            )
            self.pause_reading()
            self._arrived()
        elif self._other._transport is not None:
            self._other._transport.write(data)

    def _arrived(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def pause_writing(self) -> None:
        if self._other is not None:
            self._other.pause_reading()

    def resume_writing(self) -> None:
        if self._other is not None:
            self._other.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None
        self._arrived()
        self._close_other()

    def _close_other(self) -> None:
        if self._other is not None:
            self._other.close()


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
