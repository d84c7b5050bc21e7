"""Frames of a direct channel in an event loop: one request out, one reply in."""

from __future__ import annotations

import asyncio
import socket

import numpy as np

from envwire.client._transports.direct_channel import Channel
from envwire.wire.frames import HEADER, HEADER_BYTES, Reply

_CHUNK_BYTES = 256 * 1024


class AsyncFrames:
    """Drives a channel in the running event loop. The socket stays as it is, for threads to use it later.

    Args:
        channel: A plain channel.

    Attributes:
        channel: The channel.
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._socket = channel.connection
        self._descriptor = channel.fileno()
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Reply] | None = None
        self._data = bytearray()
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._loop.add_reader(self._descriptor, self._on_readable)

    async def exchange(self, request: bytes, timeout: float) -> Reply:
        """Sends a request and returns its reply.

        Raises:
            TimeoutError: None came in time.
            OSError: The connection broke.
        """
        self._deadline = self._loop.time() + timeout
        if self._timer is None:
            self._timer = self._loop.call_at(self._deadline, self._on_time)
        waiter: asyncio.Future[Reply] = self._loop.create_future()
        self._waiter = waiter
        frame = HEADER.pack(len(request), 0, 0) + request
        sent = self._send(frame)
        if sent < len(frame):
            await self._send_rest(memoryview(frame)[sent:])
        return await waiter

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    async def _send_rest(self, data: memoryview) -> None:
        """Sends what the socket has no room for yet."""
        while data:
            room: asyncio.Future[None] = self._loop.create_future()
            self._loop.add_writer(self._descriptor, _wake, room)
            try:
                left = self._deadline - self._loop.time()
                await asyncio.wait_for(room, max(left, 0.0))
            except asyncio.TimeoutError:
                raise TimeoutError from None
            finally:
                self._loop.remove_writer(self._descriptor)
            data = data[self._send(data) :]

    def _on_readable(self) -> None:
        try:
            data = self._socket.recv(_CHUNK_BYTES, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._fail(error)
            return
        waiter = self._waiter
        if not data or waiter is None:  # an end, or what nobody asked for
            self._fail(ConnectionResetError("the server closed the connection"))
            return
        try:
            reply = self._taken(data)
        except OSError as error:
            self._fail(error)
            return
        if reply is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(reply)

    def _taken(self, data: bytes) -> Reply | None:
        """Takes what arrived; returns the reply once all of it is there."""
        if self._data or len(data) < HEADER_BYTES:
            self._data += data
            data = bytes(self._data) if self._is_whole() else b""
        if len(data) < HEADER_BYTES:
            return None
        length, slot, attached = HEADER.unpack_from(data)
        self.channel.check_size(length, slot, attached)
        end = HEADER_BYTES + length
        total = end + (0 if slot else attached)
        if len(data) < total:
            self._data[:] = data
            return None
        if len(data) > total:
            raise ConnectionResetError("the server sent more than a reply")
        self._data.clear()
        if slot:
            return Reply(data[HEADER_BYTES:end], self.channel.in_memory(slot, attached))
        area = np.frombuffer(bytearray(memoryview(data)[end:]), np.uint8) if attached else None
        return Reply(data[HEADER_BYTES:end], area)

    def _is_whole(self) -> bool:
        """Tells whether the frame that is gathered may be whole, so that it is worth a copy."""
        if len(self._data) < HEADER_BYTES:
            return False
        length, slot, attached = HEADER.unpack_from(self._data)
        self.channel.check_size(length, slot, attached)
        total: int = HEADER_BYTES + length + (0 if slot else attached)
        return len(self._data) >= total

    def _on_time(self) -> None:
        """Looks whether time is up: one timer for all exchanges, since most are answered long before."""
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() >= self._deadline:
            self._fail(TimeoutError())
        else:
            self._timer = self._loop.call_at(self._deadline, self._on_time)

    def _fail(self, error: OSError) -> None:
        waiter, self._waiter = self._waiter, None
        self._loop.remove_reader(self._descriptor)
        if waiter is None:
            self._socket.close()  # noticed at the next exchange
        elif not waiter.done():
            waiter.set_exception(error)

    def release(self) -> None:
        """Lets go of the channel, in the loop or behind its end."""
        self._waiter = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)


def _wake(room: asyncio.Future[None]) -> None:
    if not room.done():
        room.set_result(None)
