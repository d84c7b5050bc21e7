"""The sessions that an open Interact stream has used; their leases do not run while it is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from envwire.server._auth.client import Client
from envwire.server._front.sessions.record import SessionRecord


class Stream:
    """The sessions that one stream used.

    Attributes:
        used: The sessions, by id.
        client: The client that used one last. It may play, so until it changes its steps need no further check.
    """

    client: Client | None = None

    def __init__(self) -> None:
        self.used: dict[str, SessionRecord] = {}

    def use(self, session: SessionRecord, client: Client) -> None:
        """Records that a client used a session, whose secret it presented."""
        self.client = client
        if session.id not in self.used:
            self.used = {name: used for name, used in self.used.items() if used.end_reason is None}
            self.used[session.id] = session
            session.attach()

    def end(self) -> None:
        """Records that the stream ended."""
        for session in self.used.values():
            session.detach()


#: Serves an InteractRequest and returns its reply: the request, the stream on which it came if any, and its client.
Exchange = Callable[[bytes, Stream | None, Client], Awaitable[bytes]]
