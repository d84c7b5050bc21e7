"""One session on the link to its process: its requests and pending replies."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Protocol

from envwire.server._auth.allow_list import MakeOrder
from envwire.server._ipc.frames import SLOT, FrameError, Kind
from envwire.server._ipc.pictures import Picture

#: Bound once: looking up an Enum member takes 900 instructions in Python 3.11.
_CLIENT = Kind.CLIENT


class LinkLostError(Exception):
    """The session is over, or its process is gone."""


class Listener(Protocol):
    """Receives the events of a session in its process."""

    @property
    def label(self) -> str:
        """Names the session in the operator's log."""
        ...

    @property
    def log_fields(self) -> dict[str, str]:
        """Names the session in a log of JSON objects."""
        ...

    def on_reply(self) -> None:
        """Called when the process has replied, whether or not a caller still waits."""
        ...

    def on_closed(self) -> None:
        """Called when the session is over in its process."""
        ...

    def on_lost(self) -> None:
        """Called when the process is gone."""
        ...


class SessionLink:
    """A session on its process's link, identified by a number that is never reused in that process.

    Args:
        number: The session's number.
        slot: Its row on the scoreboard.
        listener: Notified of its events.
        write: Sends a frame to the process; raises LinkLostError.
    """

    def __init__(
        self, number: int, slot: int, listener: Listener, write: Callable[[Kind, int, bytes], None]
    ) -> None:
        self.number = number
        self.slot = slot
        self.listener = listener
        self._write = write
        self._pending: deque[asyncio.Future[bytes]] = deque()
        self._rendering: asyncio.Future[Picture] | None = None
        self.over = False
        self.closed = False

    def pass_to(self, listener: Listener) -> SessionLink:
        """Sends further events to another listener; returns itself."""
        self.listener = listener
        return self

    def make(self, order: MakeOrder) -> asyncio.Future[bytes]:
        """Orders the process to make the environment and returns the future of its reply.

        Raises:
            LinkLostError: The process is gone already.
        """
        return self._ask(Kind.MAKE, SLOT.pack(self.slot) + order.request)

    def copy(self) -> asyncio.Future[bytes]:
        """Orders the process to serve the environment that it was forked with.

        Raises:
            LinkLostError: The process is gone already.
        """
        return self._ask(Kind.COPY, b"")

    def relay(self, message: bytes) -> asyncio.Future[bytes]:
        """Sends a request from the session's client and returns the future of its reply.

        Raises:
            LinkLostError: The process is gone already.
        """
        return self._ask(_CLIENT, message)

    def render(self) -> asyncio.Future[Picture]:
        """Requests a picture and returns its future, which is shared with a request that is already pending.

        Raises:
            LinkLostError: The session is over, or its process is gone.
        """
        if self.over:
            raise LinkLostError
        if self._rendering is None:
            self._write(Kind.RENDER, self.number, b"")
            self._rendering = asyncio.get_running_loop().create_future()
        return self._rendering

    def _ask(self, kind: Kind, message: bytes) -> asyncio.Future[bytes]:
        if self.over:
            raise LinkLostError
        self._write(kind, self.number, message)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending.append(future)
        return future

    def end(self) -> None:
        """Ends the session, here and in its process: pending requests fail, and later replies are ignored."""
        self.over = True
        self._fail_pending()
        if not self.closed:
            with contextlib.suppress(LinkLostError):
                self._write(Kind.END, self.number, b"")

    def _fail_pending(self) -> None:
        """Fails the callers that wait; the replies to an ended session are still counted."""
        for future in (*self._pending, self._rendering):
            if future is not None and not future.done():
                future.set_exception(LinkLostError())

    @property
    def retired(self) -> bool:
        """Whether the process will send no more frames about the session."""
        return self.closed and not self._pending

    def on_reply(self, message: bytes) -> None:
        """Delivers a reply.

        Raises:
            FrameError: None was expected.
        """
        if not self._pending:
            raise FrameError(f"a reply to nothing, for session {self.number}")
        future = self._pending.popleft()
        if not future.done():
            future.set_result(message)
        if not self.over:
            self.listener.on_reply()

    def on_rendered(self, picture: Picture) -> None:
        """Delivers a picture.

        Raises:
            FrameError: None was expected.
        """
        rendering, self._rendering = self._rendering, None
        if rendering is None:
            raise FrameError(f"a picture that was not asked for, of session {self.number}")
        if not rendering.done():
            rendering.set_result(picture)

    def on_closed(self) -> None:
        """Handles CLOSED from the process.

        Raises:
            FrameError: The session was already over there.
        """
        if self.closed:
            raise FrameError(f"session {self.number} was closed twice")
        self.closed = True
        if not self.over:
            self.listener.on_closed()

    def on_lost(self) -> None:
        """Handles the loss of the process."""
        self._fail_pending()
        if not self.over:
            self.listener.on_lost()
