"""Frames of a direct channel in an event loop: one request out, one reply in, or several sent ahead.

The socket is watched for as long as the channel is open, so a step costs neither a registration nor a timer, and only
the one iteration of the loop in which its reply arrives.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable

from envwire.client._transports.direct.direct_channel import Channel
from envwire.client._transports.loop_waits import LoopDeadline, ReusableFuture
from envwire.wire.frames import HEADER, Reply
from envwire.wire.local_channel import AdaptiveSpin


class AsyncFrames:
    """Exchanges frames in the running event loop. The socket stays in blocking mode, so that threads can use it later.

    Args:
        channel: A plain channel.
        given_up: Closes the channel after a failure and returns the exception to raise.

    Attributes:
        channel: The channel.
    """

    def __init__(
        self, channel: Channel, given_up: Callable[[BaseException, float], BaseException]
    ) -> None:
        self.channel = channel
        self._given_up = given_up
        self._socket = channel.connection
        self._descriptor = channel.fileno()
        self._loop = asyncio.get_running_loop()
        self._reply: ReusableFuture[Reply] = ReusableFuture(self._loop)
        self._deadline = LoopDeadline(lambda: self._fail(TimeoutError()))
        self._spin = AdaptiveSpin()
        self._spin.moment = channel.spin_seconds
        self._polling = False
        self._released = False
        #: Of requests that were sent ahead: how many replies are to be read, those that were, and the wait for one.
        self._unread = 0
        self._replies: deque[Reply] = deque()
        self._next: ReusableFuture[None] = ReusableFuture(self._loop)
        self._unsent = b""
        channel.sleep()
        channel.loop = self._loop
        self._loop.add_reader(self._descriptor, self._on_readable)

    async def exchange(self, request: bytes, timeout: float) -> Reply:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        try:
            self._deadline.start(timeout)
            self._reply.begin()
            self._begin_polling()
            frame = HEADER.pack(len(request), 0, 0) + request
            if not self.channel.put(frame) and (sent := self._send(frame)) < len(frame):
                await self._send_rest(memoryview(frame)[sent:])
            return await self._reply
        except BaseException as error:
            if self._released:  # another exchange or thread may use the channel by now
                raise
            self.release()
            raise self._given_up(error, timeout) from None

    def send_ahead(self, request: bytes) -> None:
        """Sends a request without waiting for earlier replies (see `AsyncTransport.send_ahead`)."""
        self.channel.begin_ahead()
        self._unread += 1
        self._unsent += HEADER.pack(len(request), 0, 0) + request
        self._send_ahead()

    def _send_ahead(self) -> None:
        """Sends what the socket accepts, and the rest when it accepts more."""
        try:
            self._unsent = self._unsent[self._send(self._unsent) :]
        except OSError as error:
            self._fail(error)
            return
        if self._unsent:
            self._loop.add_writer(self._descriptor, self._send_ahead)
        else:
            self._loop.remove_writer(self._descriptor)

    async def receive_ahead(self, timeout: float) -> Reply:
        """Waits for the reply to the oldest request (see `AsyncTransport.receive_ahead`)."""
        try:
            if not self._replies:
                if self._socket.fileno() < 0:
                    raise ConnectionResetError("the connection broke before the reply came")
                self._deadline.start(timeout)
                self._next.begin()
                await self._next
            return self._replies.popleft()
        except BaseException as error:
            if self._released:
                raise
            self.release()
            raise self._given_up(error, timeout) from None

    def _read_ahead(self) -> None:
        """Reads the replies that have arrived, whether or not somebody waits for them."""
        try:
            while self._unread:
                self._replies.append(self.channel.receive_ahead(None, socket.MSG_DONTWAIT))
                self._unread -= 1
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._fail(error)
        if self._replies and self._next.waiting:
            self._deadline.stop()
            self._next.set_result(None)

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    async def _send_rest(self, data: memoryview) -> None:
        """Sends the rest of a frame as the socket's send buffer drains."""
        while data and self._reply.waiting:
            room: asyncio.Future[None] = self._loop.create_future()
            self._loop.add_writer(self._descriptor, _wake, room)
            try:
                await asyncio.wait_for(room, self._deadline.left())
            except asyncio.TimeoutError:
                raise TimeoutError from None
            finally:
                self._loop.remove_writer(self._descriptor)
            data = data[self._send(data) :]

    def _begin_polling(self) -> None:
        if not self._spin.begin():
            self.channel.sleep()
            return
        self.channel.look()  # now, since the reply may come before the loop looks
        if not self._polling:  # else the last exchange's callback is still scheduled
            self._polling = True
            self._loop.call_soon(self._poll)

    def _poll(self) -> None:
        """Keeps the loop polling for a moment instead of sleeping (see `AdaptiveSpin`), while other callbacks run."""
        self._polling = False
        if not self._reply.waiting:
            return
        if self.channel.look():
            self._receive(slept=False)
        elif self._spin.goes_on():
            self._polling = True
            self._loop.call_soon(self._poll)
        elif self.channel.sleep():
            self._receive(slept=True)

    def _on_readable(self) -> None:
        self._receive(slept=not self._polling)

    def _receive(self, *, slept: bool) -> None:
        """Reads what has arrived.

        Args:
            slept: Whether polling did not find it.
        """
        if not self._reply.waiting:
            if self._unread:
                self._read_ahead()
            elif not self.channel.skip_wake():
                self._fail(ConnectionResetError("the server sent a reply without a request"))
            return
        try:
            reply = self.channel.read_reply(socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._fail(error)
            return
        if slept:
            self._spin.woke()
        self._deadline.stop()
        self._reply.set_result(reply)

    def _fail(self, error: OSError) -> None:
        self._unwatch()
        if self._reply.waiting:
            self._reply.set_exception(error)
        elif self._next.waiting:
            self._next.set_exception(error)
        else:
            self._socket.close()  # the next exchange reports it

    def interrupt(self) -> None:
        """Breaks the current exchange, if any."""
        self._fail(ConnectionResetError("the wait was ended"))

    @property
    def waiting(self) -> bool:
        """Whether a reply is expected."""
        return self._reply.waiting or bool(self._unread or self._replies)

    def release(self) -> None:
        """Detaches the channel from the loop, which may be closed already."""
        self._released = True
        self._deadline.close()
        self._unwatch()

    def _unwatch(self) -> None:
        self.channel.loop = None
        # If the socket is closed, another connection may have its number by now.
        if self._socket.fileno() >= 0 and not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
            if self._unsent:
                self._loop.remove_writer(self._descriptor)


def _wake(room: asyncio.Future[None]) -> None:
    if not room.done():
        room.set_result(None)
