"""What one open Interact stream used: those sessions live as long as it does, and their steps are known on sight."""

from __future__ import annotations

import hmac

from envwire.codec.steps import session_header
from envwire.server._hosted import HostedSession
from envwire.v1 import environment_pb2 as pb

_STEP_TAG = bytes((pb.InteractRequest.DESCRIPTOR.fields_by_name["step"].number << 3 | 2,))


class Stream:
    """The sessions that one stream used."""

    def __init__(self) -> None:
        self._sessions: set[HostedSession] = set()
        self._last: HostedSession | None = None
        self._header = b""

    def use(self, session: HostedSession) -> None:
        """Notes that the stream used `session`, whose secret it showed."""
        if session not in self._sessions:
            self._sessions = {used for used in self._sessions if used.fate is None}
            self._sessions.add(session)
            session.attach()
        if session is not self._last:
            self._last = session
            self._header = session_header(session.id, session.secret)

    def recognise(self, raw: bytes) -> HostedSession | None:
        """Returns the session of a step that begins, byte for byte, like the stream's last request; it is not parsed.

        Whatever follows the header is for the session to read. None means only that the request has to be parsed.
        """
        session = self._last
        if session is None or session.fate is not None or raw[:1] != _STEP_TAG:
            return None
        start = 2 if raw[1:2] < b"\x80" else 3  # behind the tag and a length of one byte or two
        shown = raw[start : start + len(self._header)]
        return session if hmac.compare_digest(shown, self._header) else None

    def end(self) -> None:
        """Notes that the stream ended."""
        for session in self._sessions:
            session.detach()
