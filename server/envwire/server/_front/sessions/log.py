"""Log lines about sessions, for the operator: made, refused, ended, and why."""

from __future__ import annotations

import logging

from envwire.server._front.sessions.life import Life
from envwire.server._front.sessions.record import SessionRecord
from envwire.v1 import environment_pb2 as pb

_log = logging.getLogger("envwire.server")

_LEVELS = {Life.LOST: logging.WARNING, Life.EXPIRED: logging.WARNING}


def log_made(session: SessionRecord, made: pb.MakeResponse) -> None:
    """Notes a session that was made."""
    recorded = f", recorded as {made.recording!r}" if made.recording else ""
    _log.info("%s: made in process %d%s", session.label, session.process.pid, recorded)


def log_not_made(session: SessionRecord, reply: pb.InteractResponse) -> None:
    """Notes an environment that could not be made."""
    _log.warning("%s: not made: %s", session.label, reply.error.message)


def log_end(session: SessionRecord) -> None:
    """Notes a session that ended; of one that was lost, what its process printed last."""
    reason = session.end_reason
    if reason is None:
        return
    level = _LEVELS.get(session.life, logging.INFO)
    output = f"; the end of its output:\n{reason.output}" if reason.output else ""
    told = f": {reason.message}" if level > logging.INFO else ""
    _log.log(level, "%s: ended: %s%s%s", session.label, reason.reason.value, told, output)
