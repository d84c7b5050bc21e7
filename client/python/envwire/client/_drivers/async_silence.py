"""Detects servers that have stopped answering, for asyncio clients (see `envwire.client._drivers.silence`)."""

from __future__ import annotations

import asyncio

from envwire.client._drivers import silence
from envwire.client._transports.async_transports import AsyncTransport
from envwire.client._transports.loop_waits import LoopDeadline
from envwire.client._transports.transport import Probeable
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Reply


class WatchedAsyncTransport:
    """A transport that ends a wait if the server has stopped answering.

    Args:
        transport: The transport that exchanges messages.
        server: The transport that probes the server.
        verdict: Decides whether a silent server is lost.
    """

    def __init__(
        self, transport: AsyncTransport, server: Probeable, verdict: silence.Verdict
    ) -> None:
        self._transport = transport
        self._server = server
        self._verdict = verdict
        self._late = LoopDeadline(self._probe_later)
        self._probing: asyncio.Task[None] | None = None
        self._wait = 0
        #: The wait that was ended because of silence.
        self._silent = -1

    async def exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        wait = self._wait = self._wait + 1
        self._late.start(silence.LATE_SECONDS)
        try:
            return await self._transport.exchange(request, timeout, header)
        except ServerUnavailableError as failure:
            failure.silent = self._silent == wait
            raise
        finally:
            self._end()

    def _end(self) -> None:
        self._late.stop()
        self._wait += 1

    def _probe_later(self) -> None:
        self._probing = asyncio.ensure_future(self._probe(self._wait))

    async def _probe(self, wait: int) -> None:
        for _ in range(silence.PROBES):
            alive = await asyncio.to_thread(self._server.probe, silence.PROBE_SECONDS)
            if self._wait != wait:
                return
            if alive:
                self._late.start(silence.LATE_SECONDS)
                return
        for _ in range(silence.VERDICTS):
            lost = await asyncio.to_thread(self._verdict)
            if self._wait != wait:
                return
            if lost:
                self._silent = wait
                self._transport.interrupt()
                return
            await asyncio.sleep(silence.VERDICT_SECONDS)
        if self._wait == wait:
            self._late.start(silence.LATE_SECONDS)

    def interrupt(self) -> None:
        """Breaks the connection (see `AsyncTransport.interrupt`)."""
        self._transport.interrupt()

    def leave_loop(self) -> None:
        """Detaches from the event loop (see `AsyncTransport.leave_loop`)."""
        self._end()
        self._late.close()
        self._transport.leave_loop()

    def close(self) -> None:
        """Closes the transport (see `AsyncTransport.close`)."""
        self._end()
        self._late.close()
        self._transport.close()
