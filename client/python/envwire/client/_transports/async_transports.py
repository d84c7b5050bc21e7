"""Transports of asyncio clients: they exchange messages in an event loop, over connections that a thread opens.

Connecting, making and connecting again are rare and may block, so a thread does them, with the transports of blocking
clients. What is done once a step, sending a request and waiting for its reply, is done in the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from envwire.client._transports.direct.async_frames import AsyncFrames
from envwire.client._transports.direct.direct import DirectTransport
from envwire.client._transports.transport import Probeable, Transport
from envwire.wire.frames import Reply


class AsyncTransport(Protocol):
    """Carries requests to a server, one at a time, in order."""

    def exchange(self, request: bytes, timeout: float, header: bytes) -> Awaitable[Reply]:
        """Sends an InteractRequest and returns the InteractResponse (see `Transport.exchange`).

        When it is cancelled, the reply that is still to come belongs to nobody, and the connection is given up.
        """
        ...

    def interrupt(self) -> None:
        """Breaks the connection: `exchange`, if it waits, raises ServerUnavailableError."""
        ...

    def leave_loop(self) -> None:
        """Lets go of the event loop; the next `exchange` may come in another one."""
        ...

    def close(self) -> None:
        """Frees what the transport holds, without waiting. Closing twice is harmless."""
        ...


class InTurn:
    """Calls functions in threads, one at a time: one whose caller was cancelled ends before the next begins."""

    def __init__(self) -> None:
        self._running: asyncio.Future[Reply] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is going on whose caller was cancelled."""
        return self._running is not None and not self._running.done()

    async def idle(self) -> None:
        """Waits until no call is going on."""
        if self._running is not None and not self._running.done():
            await asyncio.wait({self._running})

    async def call(self, function: Callable[..., Reply], *args: object) -> Reply:
        """Calls a function."""
        await self.idle()
        running = self._running = asyncio.ensure_future(asyncio.to_thread(function, *args))
        running.add_done_callback(_seen)
        return await asyncio.shield(running)


def _seen(running: asyncio.Future[Reply]) -> None:
    """Takes notice of an exception that nobody else may come for."""
    if not running.cancelled():
        running.exception()


class ThreadedTransport:
    """Any transport, each exchange in a thread.

    Args:
        transport: The transport.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._threads = InTurn()

    async def exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        return await self._threads.call(self._transport.exchange, request, timeout, header)

    def interrupt(self) -> None:
        """Breaks the connection (see `AsyncTransport.interrupt`)."""
        if isinstance(self._transport, Probeable):
            self._transport.interrupt()

    def leave_loop(self) -> None:
        """Lets go of the event loop (see `AsyncTransport.leave_loop`)."""
        self._threads = InTurn()

    def close(self) -> None:
        """Frees what the transport holds (see `AsyncTransport.close`)."""
        self._transport.close()


class AsyncDirectTransport:
    """The direct channel of one session; a stream where there is none.

    Args:
        transport: Opens the channel.
    """

    def __init__(self, transport: DirectTransport) -> None:
        self._transport = transport
        self._frames: AsyncFrames | None = None
        self._stream: AsyncTransport | None = None
        self._threads = InTurn()

    def exchange(self, request: bytes, timeout: float, header: bytes) -> Awaitable[Reply]:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        frames = self._frames
        if frames is not None and frames.channel is self._transport.plain_channel(request):
            return frames.exchange(request, timeout)
        return self._exchange(request, timeout, header)

    async def _exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Does as `exchange`, where something has to be opened first."""
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

    def interrupt(self) -> None:
        """Breaks whatever connection waits (see `AsyncTransport.interrupt`)."""
        if self._stream is not None:
            self._stream.interrupt()
        elif self._threads.busy:
            self._transport.interrupt()
        elif self._frames is not None:
            self._frames.interrupt()

    def leave_loop(self) -> None:
        """Lets go of the event loop (see `AsyncTransport.leave_loop`)."""
        frames, self._frames = self._frames, None
        if frames is not None:
            frames.release()
            if frames.waiting:  # its loop was closed meanwhile; the reply belongs to nobody
                self._transport.given_up(ConnectionAbortedError("the event loop was closed"), 0.0)
        if self._stream is not None:
            self._stream.leave_loop()

    def close(self) -> None:
        """Ends the channel (see `AsyncTransport.close`)."""
        self.leave_loop()
        if self._stream is not None:
            self._stream.close()
        self._transport.close()


def async_transport(transport: Transport) -> AsyncTransport:
    """Returns a transport for an event loop over the connections of a blocking one, which it owns from here on."""
    from envwire.client._transports.grpc.grpc_aio import AsyncStreamTransport
    from envwire.client._transports.grpc.grpc_transports import StreamTransport

    if isinstance(transport, DirectTransport):
        return AsyncDirectTransport(transport)
    if isinstance(transport, StreamTransport):
        return AsyncStreamTransport(transport)
    return ThreadedTransport(transport)
