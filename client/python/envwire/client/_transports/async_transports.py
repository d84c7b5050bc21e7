"""Transports of asyncio clients: requests are exchanged in an event loop, over connections that threads open.

Connecting, making and reconnecting are rare and may block, so they run in threads, on the transports of blocking
clients. Only the work of every step runs in the loop: sending a request and awaiting its reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from envwire.client._errors import broken
from envwire.client._transports.direct.async_frames import AsyncFrames
from envwire.client._transports.direct.direct import DirectTransport
from envwire.client._transports.loop_waits import OneAtATime
from envwire.client._transports.transport import Transport
from envwire.wire.envelope import STEP_REQUEST
from envwire.wire.frames import Reply

#: A request of a step, for questions about any of them.
_STEP = bytes([STEP_REQUEST])


class AsyncTransport(Protocol):
    """Carries requests to a server, one at a time, in order."""

    def exchange(self, request: bytes, timeout: float, header: bytes) -> Awaitable[Reply]:
        """Sends an InteractRequest and returns the InteractResponse (see `Transport.exchange`).

        If it is cancelled, the connection is closed, so that the late reply cannot be taken for the next request's.
        """
        ...

    @property
    def pipelines(self) -> bool:
        """Whether the open connection carries several requests at a time (see `Transport.pipelines`)."""
        ...

    def send_ahead(self, request: bytes, timeout: float, /) -> None:
        """Sends a request without waiting for earlier replies (see `Transport.send_ahead`)."""

    def receive_ahead(self, timeout: float, /) -> Awaitable[Reply]:
        """Waits for the reply to the oldest request (see `Transport.receive_ahead`)."""
        ...

    def interrupt(self) -> None:
        """Breaks the connection: a waiting `exchange` raises ServerUnavailableError."""

    def leave_loop(self) -> None:
        """Detaches from the event loop; the next `exchange` may run in another one."""

    def close(self) -> None:
        """Releases the transport's resources without waiting. Closing twice is harmless."""


class SerialThreads:
    """Calls functions in threads, one at a time: the next call waits even for one whose caller was cancelled."""

    def __init__(self) -> None:
        self._running: asyncio.Future[Reply] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is still running after its caller was cancelled."""
        return self._running is not None and not self._running.done()

    async def idle(self) -> None:
        """Waits until no call is running."""
        if self._running is not None and not self._running.done():
            await asyncio.wait({self._running})

    async def call(self, function: Callable[..., Reply], *args: object) -> Reply:
        """Calls a function in a thread and returns its result."""
        await self.idle()
        running = self._running = asyncio.ensure_future(asyncio.to_thread(function, *args))
        running.add_done_callback(_retrieve_exception)
        return await asyncio.shield(running)


def _retrieve_exception(running: asyncio.Future[Reply]) -> None:
    """Marks the exception as retrieved, so that asyncio does not log it if the caller was cancelled."""
    if not running.cancelled():
        running.exception()


class ThreadedTransport(OneAtATime):
    """Runs each exchange of a blocking transport in a thread.

    Args:
        transport: The blocking transport.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._threads = SerialThreads()

    async def exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        return await self._threads.call(self._transport.exchange, request, timeout, header)

    def interrupt(self) -> None:
        """Breaks the connection (see `AsyncTransport.interrupt`)."""
        self._transport.interrupt()

    def leave_loop(self) -> None:
        """Detaches from the event loop (see `AsyncTransport.leave_loop`)."""
        self._threads = SerialThreads()

    def close(self) -> None:
        """Closes the transport (see `AsyncTransport.close`)."""
        self._transport.close()


class AsyncDirectTransport:
    """The direct channel of one session; a stream if none can be opened.

    Args:
        transport: Opens the channel.
    """

    def __init__(self, transport: DirectTransport) -> None:
        self._transport = transport
        self._frames: AsyncFrames | None = None
        self._stream: AsyncTransport | None = None
        self._threads = SerialThreads()

    def exchange(self, request: bytes, timeout: float, header: bytes) -> Awaitable[Reply]:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        frames = self._frames
        if frames is not None and frames.channel is self._transport.plain_channel(request):
            return frames.exchange(request, timeout)
        return self._exchange(request, timeout, header)

    async def _exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Opens the connection first, then exchanges as `exchange` does."""
        if self._stream is not None:
            return await self._stream.exchange(request, timeout, header)
        await self._threads.idle()
        self.leave_loop()
        channel = self._transport.plain_channel(request)
        if channel is not None:
            self._frames = AsyncFrames(channel, self._transport.given_up)
            return await self._frames.exchange(request, timeout)
        reply = await self._threads.call(self._transport.exchange, request, timeout, header)
        if (stream := self._transport.stream) is not None:
            self._stream = async_transport(stream)
        return reply

    @property
    def pipelines(self) -> bool:
        """Whether the channel is open and watched by the loop (see `AsyncTransport.pipelines`)."""
        frames = self._frames
        return frames is not None and frames.channel is self._transport.plain_channel(_STEP)

    def send_ahead(self, request: bytes, timeout: float) -> None:
        """Sends a request without waiting for earlier replies (see `AsyncTransport.send_ahead`)."""
        del timeout
        self._open_frames(request).send_ahead(request)

    def receive_ahead(self, timeout: float) -> Awaitable[Reply]:
        """Waits for the reply to the oldest request (see `AsyncTransport.receive_ahead`)."""
        return self._open_frames(_STEP).receive_ahead(timeout)

    def _open_frames(self, request: bytes) -> AsyncFrames:
        frames = self._frames
        if frames is None or frames.channel is not self._transport.plain_channel(request):
            raise broken("the direct channel was closed")
        return frames

    def interrupt(self) -> None:
        """Breaks the connection that is in use (see `AsyncTransport.interrupt`)."""
        if self._stream is not None:
            self._stream.interrupt()
        elif self._threads.busy:
            self._transport.interrupt()
        elif self._frames is not None:
            self._frames.interrupt()

    def leave_loop(self) -> None:
        """Detaches from the event loop (see `AsyncTransport.leave_loop`)."""
        frames, self._frames = self._frames, None
        if frames is not None:
            frames.release()
            # Its loop was closed during an exchange: nothing may read the late reply.
            if frames.waiting:
                self._transport.given_up(ConnectionAbortedError("the event loop was closed"), 0.0)
        if self._stream is not None:
            self._stream.leave_loop()

    def close(self) -> None:
        """Closes the channel (see `AsyncTransport.close`)."""
        self.leave_loop()
        self._transport.close()


def async_transport(transport: Transport) -> AsyncTransport:
    """Returns an asyncio transport over the connections of a blocking transport, and takes ownership of that one."""
    from envwire.client._transports.grpc.grpc_aio import AsyncStreamTransport
    from envwire.client._transports.grpc.grpc_transports import StreamTransport

    if isinstance(transport, DirectTransport):
        return AsyncDirectTransport(transport)
    if isinstance(transport, StreamTransport):
        return AsyncStreamTransport(transport)
    return ThreadedTransport(transport)
