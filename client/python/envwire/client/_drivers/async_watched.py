"""The transport of an asyncio client that ends a wait if the server has stopped answering."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from envwire.client._drivers.failure_detection import FailureDetector, FailureMonitor
from envwire.client._transports.async_transports import AsyncTransport
from envwire.client._transports.loop_waits import LoopDeadline
from envwire.client._transports.transport import Probeable
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Reply


class WaitsOfLoop:
    """Waits of an event loop (see `Waits`)."""

    async def call(self, function: Callable[[], bool]) -> bool:
        # A thread of its own: in the loop's (six on two cores) the probes of 50 sessions on a stopped server took 17 s,
        # and the program's own calls waited behind them.
        thread = ThreadPoolExecutor(1, "envwire-probe")
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, function)
        finally:
            thread.shutdown(wait=False)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class WatchedAsyncTransport:
    """A transport whose waits end when the server has stopped answering.

    Args:
        transport: The transport that exchanges messages.
        server: The transport that probes the server.
        detector: Decides whether a silent server is lost.
    """

    def __init__(
        self, transport: AsyncTransport, server: Probeable, detector: FailureDetector
    ) -> None:
        self._transport = transport
        self._late = LoopDeadline(self._probe_later)
        self._monitor = FailureMonitor(
            self._late, server, detector, transport.interrupt, WaitsOfLoop()
        )
        self._probing: asyncio.Task[None] | None = None

    def exchange(self, request: bytes, timeout: float, header: bytes) -> Awaitable[Reply]:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        return self._watched(self._transport.exchange, request, timeout, header)

    async def _watched(self, ask: Callable[..., Awaitable[Reply]], *args: Any) -> Reply:
        self._monitor.begin()
        try:
            reply = await ask(*args)
        except ServerUnavailableError as failure:
            failure.silent = await self._monitor.failed(failure, time.monotonic())
            raise
        finally:
            self._monitor.end()
        self._monitor.cut_at = 0.0
        return reply

    @property
    def pipelines(self) -> bool:
        """Whether several requests can be in flight (see `AsyncTransport.pipelines`)."""
        return self._transport.pipelines

    def send_ahead(self, request: bytes, timeout: float) -> None:
        """Sends a request (see `AsyncTransport.send_ahead`); its wait begins with `receive_ahead`."""
        self._transport.send_ahead(request, timeout)

    def receive_ahead(self, timeout: float) -> Awaitable[Reply]:
        """Waits for the reply to the oldest request (see `AsyncTransport.receive_ahead`)."""
        return self._watched(self._transport.receive_ahead, timeout)

    def _probe_later(self) -> None:
        self._probing = asyncio.ensure_future(self._monitor.judge())

    def interrupt(self) -> None:
        """Breaks the connection (see `AsyncTransport.interrupt`)."""
        self._transport.interrupt()

    def leave_loop(self) -> None:
        """Detaches from the event loop (see `AsyncTransport.leave_loop`)."""
        self._end()
        self._transport.leave_loop()

    def close(self) -> None:
        """Closes the transport (see `AsyncTransport.close`)."""
        self._end()
        self._transport.close()

    def _end(self) -> None:
        self._monitor.end()
        self._late.close()
