"""Log lines about sessions for the operator: made, refused, ended, and why, or not swept."""

from __future__ import annotations

import logging
from typing import Any

from envwire.codec import FaultError, Reason
from envwire.codec.errors.statuses import reason_of
from envwire.server._front.sessions.life import Life
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._grammar import counted
from envwire.server._logs import extra
from envwire.v1 import environment_pb2 as pb

_log = logging.getLogger("envwire.server")

_LEVELS = {Life.LOST: logging.WARNING, Life.EXPIRED: logging.WARNING}


def log_made(session: SessionRecord, made: pb.MakeResponse) -> None:
    """Logs a session that was made."""
    recorded = f", recorded as {made.recording!r}" if made.recording else ""
    process = session.process.pid
    _log_line(logging.INFO, session, f"made in process {process}{recorded}", process=process)


def log_not_made(session: SessionRecord, reply: pb.InteractResponse) -> None:
    """Logs an environment that could not be made; its exception is marked as the environment's text, like output."""
    reason = reason_of(reply.error)
    stream = "environment" if reason is Reason.ENVIRONMENT_RAISED else "server"
    text = f"not made: {reply.error.message}"
    _log_line(logging.WARNING, session, text, stream=stream, reason=reason.value)


def log_end(session: SessionRecord, reason: FaultError) -> None:
    """Logs a session that ended, with what it did and took, and for a lost one the last output of its process."""
    level = _LEVELS.get(session.life, logging.INFO)
    output = f"; the end of its output:\n{reason.output}" if reason.output else ""
    message = f": {reason.message}" if level > logging.INFO else ""
    seconds, counters = session.clock() - session.began, session.counters
    did = [
        f"{seconds:.1f} s",
        counted(counters.steps, "step"),
        *([counted(counters.episodes, "episode")] if counters.episodes else []),
    ]
    fields: dict[str, Any] = {
        "reason": reason.reason.value,
        "seconds": round(seconds, 3),
        "steps": counters.steps,
        "episodes": counters.episodes,
    }
    if took := session.resources:
        did.append(f"{took.cpu:.1f} s of processor time")
        did += [f"at most {took.peak / 2**20:.0f} MiB"] if took.peak else []
        fields |= {"cpu_seconds": took.cpu, "peak_bytes": took.peak}
    text = f"ended: {reason.reason.value}{message} ({', '.join(did)})"
    _log_line(level, session, text, output, **fields)


def log_unused(session: SessionRecord, left: float) -> None:
    """Logs that a session will end because its client does not use it."""
    unused = session.liveness.max_idle - left
    text = f"no request for {unused:.0f} s; it ends in {left:.0f} s unless one comes (--max-idle)"
    _log_line(logging.WARNING, session, text)


def log_not_swept(session: SessionRecord) -> None:
    """Logs the exception that a sweep of the session raised."""
    text = "a sweep of it failed"
    shown = extra(message=text, **session.log_fields)
    _log.exception("%s: %s", session.label, text, extra=shown)


def _log_line(
    level: int, session: SessionRecord, text: str, output: str = "", **fields: Any
) -> None:
    """Logs a line. An environment's output is part of it only in a text log; in JSON it has lines of its own."""
    shown = extra(message=text, **session.log_fields, **fields)
    _log.log(level, "%s: %s%s", session.label, text, output, extra=shown)
