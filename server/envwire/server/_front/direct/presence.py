"""Detects whether the client of a direct channel is still connected, without asking the session process.

A session process could claim forever that its client is connected, to keep its session. The front therefore keeps a
descriptor of the connection and asks the kernel about its state. Traffic on the connection does not wake the front.
"""

from __future__ import annotations

import select
import socket


class Presence:
    """Watches a connection for its end, with its own descriptors.

    Args:
        client: The client's own socket; the caller keeps ownership.
        connection: The socket that the session process reads: the same, or the inner one of a TLS relay.

    Attributes:
        unread: Whether the last check found bytes that the process had not read.

    Raises:
        OSError: The connection is already closed, or no more files can be opened.
    """

    def __init__(self, client: socket.socket, connection: socket.socket | None = None) -> None:
        self.unread = False
        self._client = client.dup()
        self._read = self._client
        if connection is not None and connection is not client:
            try:
                self._read = connection.dup()
            except OSError:
                self._client.close()
                raise
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)
        both = select.POLLRDHUP | (select.POLLIN if self._read is self._client else 0)
        self._poll.register(self._client, both)

    @property
    def was_open(self) -> bool:
        """Whether the last check found the connection open on both sides."""
        return self._client.fileno() >= 0

    def is_open(self) -> bool:
        """Checks whether the connection is open on both sides, which takes about 1 us."""
        if self._client.fileno() < 0:
            return False
        events = dict(self._poll.poll(0))
        self.unread = bool(events.get(self._read.fileno(), 0) & select.POLLIN)
        if events.get(self._client.fileno(), 0) & ~select.POLLIN:
            self.close()
        return self.was_open

    def close(self) -> None:
        """Closes these descriptors; the connection ends once the session process has closed its own."""
        self.unread = False
        self._client.close()
        self._read.close()
