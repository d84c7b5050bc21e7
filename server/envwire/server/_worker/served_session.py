"""A session in its process: its number, its scoreboard row and its state."""

from __future__ import annotations

from dataclasses import dataclass

from envwire.codec import FaultError, Reason
from envwire.server._ipc.fault_replies import fault_reply
from envwire.server._ipc.scoreboard import Row
from envwire.server._session.session import Session


@dataclass(eq=False)
class ServedSession:
    """A session that the process serves.

    Attributes:
        number: Its number on the link, never reused in this process.
        row: Its row on the scoreboard.
        session: The session.
        large: Whether its last reply on the link was large.
    """

    number: int
    row: Row
    session: Session
    large: bool = False


#: The reply to a request for a session that is over or never existed.
GONE = fault_reply(
    FaultError(
        Reason.SESSION_CLOSED,
        "the session was closed before this request was served; make the environment again to go on",
    )
).SerializeToString()
