"""The sessions that an open Interact stream has used; their leases do not run while it is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from envwire.server._auth.client import Client
from envwire.server._front.sessions.record import SessionRecord


class Stream:
    """The sessions that one stream used."""

    def __init__(self) -> None:
        self._sessions: set[SessionRecord] = set()

    def use(self, session: SessionRecord) -> None:
        """Records that the stream used a session, whose secret it presented."""
        if session not in self._sessions:
            self._sessions = {used for used in self._sessions if used.end_reason is None}
            self._sessions.add(session)
            session.attach()

    def uses(self, session: SessionRecord) -> bool:
        """Returns whether the stream has used a session."""
        return session in self._sessions

    def end(self) -> None:
        """Records that the stream ended."""
        for session in self._sessions:
            session.detach()


#: Serves an InteractRequest and returns its reply: the request, the stream on which it came if any, and its client.
Exchange = Callable[[bytes, Stream | None, Client], Awaitable[bytes]]
