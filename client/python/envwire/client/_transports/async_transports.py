"""Transports of asyncio clients: they exchange messages in an event loop, over connections that a thread opens.

Connecting, making and connecting again are rare and may block, so a thread does them, with the transports of blocking
clients. What is done once a step, sending a request and waiting for its reply, is done in the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from envwire.client._transports.async_frames import AsyncFrames
from envwire.client._transports.direct import DirectTransport
from envwire.client._transports.transport import Transport
from envwire.wire.frames import Reply


class AsyncTransport(Protocol):
    """Carries requests to a server, one at a time, in order."""

    async def exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Sends an InteractRequest and returns the InteractResponse (see `Transport.exchange`).

        When it is cancelled, the reply that is still to come belongs to nobody, and the connection is given up.
        """
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

    async def exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        if self._stream is not None:
            return await self._stream.exchange(request, timeout, header)
        if self._threads.busy:
            await self._threads.idle()
        channel = self._transport.plain_channel(request)
        if channel is None:
            return await self._exchange_in_thread(request, timeout, header)
        frames = self._frames
        if frames is None or frames.channel is not channel:
            frames = self._frames = AsyncFrames(channel)
        try:
            return await frames.exchange(request, timeout)
        except BaseException as error:
            frames.release()
            self._frames = None
            raise self._transport.given_up(error, timeout) from None

    async def _exchange_in_thread(self, request: bytes, timeout: float, header: bytes) -> Reply:
        self._release()
        reply = await self._threads.call(self._transport.exchange, request, timeout, header)
        if (stream := self._transport.stream) is not None:
            self._stream = async_transport(stream)
        return reply

    def _release(self) -> None:
        frames, self._frames = self._frames, None
        if frames is not None:
            frames.release()

    def close(self) -> None:
        """Ends the channel (see `AsyncTransport.close`)."""
        self._release()
        if self._stream is not None:
            self._stream.close()
        self._transport.close()


def async_transport(transport: Transport) -> AsyncTransport:
    """Returns a transport for an event loop over the connections of a blocking one, which it owns from here on."""
    from envwire.client._transports.grpc_aio import AsyncStreamTransport
    from envwire.client._transports.grpc_transports import StreamTransport

    if isinstance(transport, DirectTransport):
        return AsyncDirectTransport(transport)
    if isinstance(transport, StreamTransport):
        return AsyncStreamTransport(transport)
    return ThreadedTransport(transport)
