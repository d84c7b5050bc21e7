"""The front's end of the link to a session process: sends requests, receives replies and events.

Bytes from the process are not trusted, since an environment may have written them. A process that answers a request
that was not sent, names a session that it does not have, or sends invalid frames or responses is killed, and its
sessions end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from itertools import count
from typing import Protocol, cast

from envwire.server._auth.allow_list import MakeOrder
from envwire.server._ipc.frames import (
    SLOT,
    STOPS_AT,
    FrameError,
    FrameReader,
    Kind,
    Picture,
    pack_header,
    read_picture,
)
from envwire.server._ipc.message_slots import MIN_SLOT_BYTES, MessageSlots
from envwire.wire.envelope import RESPONSES

#: Bound once: looking up an Enum member takes 900 instructions in Python 3.11.
_CLIENT, _REPLY = Kind.CLIENT, Kind.REPLY


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

    Attributes:
        over: Whether it was ended here.
        closed: Whether it is over in the process.
        pending: Futures of the replies to come, in order.
    """

    def __init__(
        self, number: int, slot: int, listener: Listener, write: Callable[[Kind, int, bytes], None]
    ) -> None:
        self.number = number
        self.slot = slot
        self.listener = listener
        self._write = write
        self.pending: deque[asyncio.Future[bytes]] = deque()
        self._rendering: asyncio.Future[Picture] | None = None
        self.over = False
        self.closed = False

    def pass_to(self, listener: Listener) -> SessionLink:
        """Sends further events to another listener; returns itself."""
        self.listener = listener
        return self

    def ask(self, message: bytes) -> asyncio.Future[bytes]:
        """Sends a request of the session's client to the process and returns the future of its reply.

        Raises:
            LinkLostError: The session is over, or its process is gone.
        """
        return self._send(_CLIENT, message)

    def make(self, order: MakeOrder) -> asyncio.Future[bytes]:
        """Orders the process to make the environment and returns the future of its reply.

        Raises:
            LinkLostError: The session is over, or its process is gone.
        """
        return self._send(Kind.MAKE, SLOT.pack(self.slot) + order.request)

    def copy(self) -> asyncio.Future[bytes]:
        """Orders the process to serve the environment that it was forked with; the same.

        Raises:
            LinkLostError: The session is over, or its process is gone.
        """
        return self._send(Kind.COPY, b"")

    def _send(self, kind: Kind, message: bytes) -> asyncio.Future[bytes]:
        if self.over:
            raise LinkLostError
        self._write(kind, self.number, message)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.pending.append(future)
        return future

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

    def end(self) -> None:
        """Ends the session, here and in its process: pending requests fail, and later replies are ignored."""
        self.over = True
        self._fail_pending()
        if not self.closed:
            with contextlib.suppress(LinkLostError):
                self._write(Kind.END, self.number, b"")

    def _fail_pending(self) -> None:
        """Fails the callers that wait; the replies to an ended session are still counted."""
        for future in (*self.pending, self._rendering):
            if future is not None and not future.done():
                future.set_exception(LinkLostError())

    def on_reply(self, message: bytes) -> None:
        """Delivers a reply.

        Raises:
            FrameError: None was expected, or it is none.
        """
        if not self.pending:
            raise FrameError(f"a reply to nothing, for session {self.number}")
        if not RESPONSES.holds_one(message):
            raise FrameError("a reply that is no InteractResponse")
        future = self.pending.popleft()
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


@dataclass(eq=False)
class Link(asyncio.Protocol):
    """Sends the requests of sessions to their process and delivers the replies.

    Args:
        limit: Largest message accepted, in bytes.
        message_slots: Shared memory for large messages.
        on_lost: Called once when the process is gone.
        on_retired: Called with each slot that becomes free.
        on_misbehaved: Called with a description of what the process did wrong.
    """

    limit: InitVar[int]
    _message_slots: MessageSlots
    _on_lost: Callable[[], None]
    _on_retired: Callable[[int], None]
    _on_misbehaved: Callable[[str], None]

    def __post_init__(self, limit: int) -> None:
        self._reader = FrameReader(limit, self._message_slots)
        self._numbers = count(1)
        self._sessions: dict[int, SessionLink] = {}
        self._transport: asyncio.Transport | None = None
        self._lost = False

    def open(self, slot: int, listener: Listener) -> SessionLink:
        """Returns the link of a new session; the caller makes the session next.

        Args:
            slot: Its row on the scoreboard.
            listener: Notified of its events.
        """
        number = next(self._numbers)
        session = self._sessions[number] = SessionLink(number, slot, listener, self._write)
        if self._lost:  # before it was opened: nobody else tells it
            asyncio.get_running_loop().call_soon(session.on_lost)
        return session

    def tell_draining(self, stops_at: float) -> None:
        """Tells the process that the server is about to stop."""
        self._notify(Kind.DRAIN, 0, STOPS_AT.pack(stops_at))

    def _notify(self, kind: Kind, number: int, message: bytes = b"") -> None:
        """Sends a frame that is not answered, unless the process is gone."""
        with contextlib.suppress(LinkLostError):
            self._write(kind, number, message)

    def _write(self, kind: Kind, number: int, message: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            raise LinkLostError
        length, slot = len(message), 0
        if length >= MIN_SLOT_BYTES:
            slot = self._message_slots.put([message], length)
        header = pack_header(kind, number, length, slot)
        self._transport.write(header if slot else header + message)

    def close(self) -> None:
        """Closes the connection, upon which the process exits."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport (asyncio calls this)."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Handles bytes from the process (asyncio calls this)."""
        try:
            for kind, number, message in self._reader.feed(data):
                session = self._sessions.get(number)
                if session is None:
                    raise FrameError(f"a frame for session {number}, which it does not have")
                if kind == _REPLY:
                    session.on_reply(message)
                else:
                    self._on_event(session, kind, message)
                if session.closed and not session.pending:  # no more frames are about it
                    del self._sessions[number]
        except FrameError as error:
            self.close()
            self._on_misbehaved(str(error))

    def _on_event(self, session: SessionLink, kind: int, message: bytes) -> None:
        """Delivers a frame that is no reply.

        Raises:
            FrameError: The process may not send this frame.
        """
        if kind == Kind.RENDERED:
            session.on_rendered(read_picture(message))
        elif kind == Kind.CLOSED and not message:
            session.on_closed()
            self._notify(Kind.ACK, session.number)
            self._on_retired(session.slot)
        else:
            raise FrameError(f"a frame of kind {kind} and {len(message)} bytes is none of its own")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Fails all pending requests (asyncio calls this)."""
        self._lost = True
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.on_lost()
        self._on_lost()
