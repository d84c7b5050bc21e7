"""The front's end of a session process's socket: one reply for each request, in order, and notices between them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from envwire.server._ipc.frames import FrameError, FrameReader, pack_header
from envwire.server._ipc.message_slots import Shelf


class LinkLostError(Exception):
    """The session process is gone, or no longer speaks in frames."""


class Link(asyncio.Protocol):
    """Sends requests to a session process and matches its replies to them.

    Args:
        limit: Largest message accepted, in bytes.
        on_lost: Called once when the process is gone.
        on_reply: Called with the place of the session after every reply.
        on_notice: Called with the place of a session that was closed.
        shelf: Where large messages are laid down.
    """

    def __init__(
        self,
        limit: int,
        on_lost: Callable[[], None],
        on_reply: Callable[[int], None],
        on_notice: Callable[[int], None],
        shelf: Shelf,
    ) -> None:
        self._reader = FrameReader(limit, shelf)
        self._shelf = shelf
        self._on_lost = on_lost
        self._on_reply = on_reply
        self._on_notice = on_notice
        self._pending: deque[asyncio.Future[bytes]] = deque()
        self._transport: asyncio.Transport | None = None

    def ask(self, place: int, message: bytes) -> asyncio.Future[bytes]:
        """Sends a request and returns the future of its reply.

        The reply comes even when nobody waits for the future any more; it is dropped then.

        Raises:
            LinkLostError: The process is gone already.
        """
        if self._transport is None or self._transport.is_closing():
            raise LinkLostError
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending.append(future)
        where = self._shelf.put([message], len(message))
        header = pack_header(place, len(message), where)
        self._transport.write(header if where else header + message)
        return future

    def give_notice(self, place: int) -> None:
        """Tells the process that the session of a place is to be ended, or that its notice arrived."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(pack_header(place, 0))

    def close(self) -> None:
        """Ends the connection; the process leaves when it sees it."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins (asyncio calls this)."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Hands complete replies to those who wait (asyncio calls this)."""
        try:
            frames = self._reader.feed(data)
        except FrameError:
            self.close()
            return
        for place, message in frames:
            if not message:
                self._on_notice(place)
            elif self._pending:
                future = self._pending.popleft()
                if not future.cancelled():
                    future.set_result(message)
                self._on_reply(place)
            else:  # a reply to nothing: not our worker any more
                self.close()
                return

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Fails all that still wait (asyncio calls this)."""
        while self._pending:
            future = self._pending.popleft()
            if not future.cancelled():
                future.set_exception(LinkLostError())
        self._on_lost()
