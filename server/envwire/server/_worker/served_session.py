"""A session in its process: its number, its slot and its state."""

from __future__ import annotations

from dataclasses import dataclass

from envwire.codec import FaultError, Reason
from envwire.server._ipc.fault_replies import fault_reply
from envwire.server._session.session import Session
from envwire.server._session.warning_log import WarningLog


@dataclass(eq=False)
class ServedSession:
    """A session that the process serves.

    Attributes:
        number: What the front calls it; no other session of the process is ever called so.
        slot: Its row on the scoreboard.
        session: The session.
        warnings: What its environment warned of.
        large: Whether its last reply on the link was large.
    """

    number: int
    slot: int
    session: Session
    warnings: WarningLog
    large: bool = False


#: What a request gets whose session is over, or never was.
GONE = fault_reply(
    FaultError(
        Reason.SESSION_CLOSED,
        "the session was closed before this request was served; make the environment again to go on",
    )
).SerializeToString()
