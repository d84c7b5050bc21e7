"""The front's end of the link to a session process: sends requests, receives replies and events.

Bytes from the process are not trusted, since an environment may have written them. A process that answers a request
that was not sent, names a session that it does not have, or sends invalid frames or responses is killed, and its
sessions end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from itertools import count
from typing import cast

from envwire.server._ipc.frames import STOPS_AT, Frame, FrameError, FrameReader, Kind, pack_header
from envwire.server._ipc.message_slots import MessageSlots
from envwire.server._ipc.pictures import read_picture
from envwire.server._processes.session_link import LinkLostError, Listener, SessionLink
from envwire.wire.envelope import RESPONSES

#: Bound once: looking up an Enum member takes 900 instructions in Python 3.11.
_REPLY = Kind.REPLY


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

    def open(self, slot: int, listener: Listener) -> SessionLink:
        """Returns the link of a new session; the caller makes the session next.

        Args:
            slot: Its row on the scoreboard.
            listener: Notified of its events.
        """
        number = next(self._numbers)
        self._sessions[number] = SessionLink(number, slot, listener, self._write)
        return self._sessions[number]

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
        slot = self._message_slots.put([message], len(message))
        header = pack_header(kind, number, len(message), slot)
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
            for frame in self._reader.feed(data):
                self._take(frame)
        except FrameError as error:
            self.close()
            self._on_misbehaved(str(error))

    def _take(self, frame: Frame) -> None:
        """Delivers one frame.

        Raises:
            FrameError: The process may not send this frame.
        """
        kind, number, message = frame
        session = self._sessions.get(number)
        if session is None:
            raise FrameError(f"a frame for session {number}, which it does not have")
        if kind == _REPLY:
            if not RESPONSES.holds_one(message):
                raise FrameError("a reply that is no InteractResponse")
            session.on_reply(message)
        elif kind == Kind.RENDERED:
            session.on_rendered(read_picture(message))
        elif kind == Kind.CLOSED and not message:
            session.on_closed()
            self._notify(Kind.ACK, number)
            self._on_retired(session.slot)
        else:
            raise FrameError(f"a frame of kind {kind} and {len(message)} bytes is none of its own")
        if session.retired:
            del self._sessions[number]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Fails all pending requests (asyncio calls this)."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.on_lost()
        self._on_lost()
