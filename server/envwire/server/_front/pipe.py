"""Relays bytes between two connections, each as fast as the other accepts them."""

from __future__ import annotations

import asyncio
from typing import cast


class PipeEnd(asyncio.Protocol):
    """One end of a pipe, which writes what it receives to the other end; when one is closed, the other is as well."""

    def __init__(self) -> None:
        self._other: PipeEnd | None = None
        self._transport: asyncio.Transport | None = None
        self._early = b""

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
            self.relay(self._early)  # which pauses reading again if the other end does not keep up
            self._early = b""

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
        elif self._other._transport is not None:
            self._other._transport.write(data)

    def pause_writing(self) -> None:
        if self._other is not None:
            self._other.pause_reading()

    def resume_writing(self) -> None:
        if self._other is not None:
            self._other.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None
        self._close_other()

    def _close_other(self) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.close()
