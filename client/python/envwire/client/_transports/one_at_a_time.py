"""The part of an `AsyncTransport` that carries one request at a time."""

from __future__ import annotations

from collections.abc import Awaitable

from envwire.client._session.states import ProtocolError
from envwire.wire.frames import Reply


class OneAtATime:
    """The methods of `AsyncTransport` of a transport that carries one request at a time."""

    pipelines = False

    def send_ahead(self, _request: bytes, _timeout: float) -> None:
        """Never happens."""
        raise ProtocolError("this transport carries one request at a time")

    def receive_ahead(self, _timeout: float) -> Awaitable[Reply]:
        """Never happens."""
        raise ProtocolError("this transport carries one request at a time")
