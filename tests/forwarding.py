"""A transport around another one, for tests that change what passes through it."""

from __future__ import annotations

from envwire.client import Transport
from envwire.wire.frames import Reply


class Forwarding(Transport):
    """Forwards what every transport can do.

    Args:
        transport: The transport inside.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        return self._transport.exchange(request, timeout, header)

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        self._transport.send(request, timeout, header)

    def receive(self) -> Reply:
        return self._transport.receive()

    def fileno(self) -> int:
        return self._transport.fileno()

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        self._transport.keep_alive(request, header)

    def close(self) -> None:
        self._transport.close()
