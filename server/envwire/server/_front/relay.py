"""Relays the requests of sessions to their process, without the session header, and returns the replies."""

from __future__ import annotations

from envwire.codec import FaultError
from envwire.server._front.sessions.life import END_REASONS, Event
from envwire.server._front.sessions.stream import Stream
from envwire.server._front.sessions.table import Sessions
from envwire.v1 import environment_pb2 as pb


async def relay(
    sessions: Sessions, kind: str, header: pb.SessionHeader, request: bytes, stream: Stream | None
) -> bytes:
    """Relays any request of a session.

    Args:
        sessions: The sessions of the server.
        kind: The request's field in InteractRequest.
        header: Session id and secret.
        request: The InteractRequest without the header.
        stream: The stream on which it arrived.

    Raises:
        FaultError: There is no such session, or it has ended.
    """
    try:
        session = sessions.find(header.session_id, header.secret)
    except FaultError as fault:
        # Closing an ended session is harmless.
        if kind == "close" and fault.reason in END_REASONS:
            return pb.InteractResponse(close=pb.CloseResponse()).SerializeToString()
        raise
    if stream is not None:
        stream.use(session)
    reply = await session.ask(request)
    if kind == "close":
        session.end(Event.CLOSE)
    return reply
