"""Decides which errors mean that a session is lost, and builds the error for an environment without a session.

Closing is idempotent: a session that is already gone, or whose server is unreachable, counts as closed.
"""

from __future__ import annotations

from envwire.client import errors
from envwire.codec import Reason

#: The reasons that end a session.
ENDS: frozenset[str] = frozenset(reason for reason in Reason if reason.ends_session)

#: Errors which mean that there is nothing left to close.
_GONE = (errors.SessionError, errors.ServerUnavailableError, errors.NotAllowedError)


def is_lost(error: Exception) -> bool:
    """Returns whether an error means that the session is lost: the server ended it, or cannot be reached."""
    return isinstance(error, errors.ServerUnavailableError) or (
        isinstance(error, errors.RemoteError) and error.reason in ENDS
    )


def should_report(error: Exception) -> bool:
    """Returns whether a failed close is worth reporting: the session being gone already is not.

    An environment that hung while it was being closed is reported, although its session is gone too.
    """
    return isinstance(error, errors.StepTimeoutError) or not isinstance(error, _GONE)


def not_live(owner: object, pid: int | None = None) -> errors.SessionClosedError:
    """Returns the exception for an environment that has no session in this process.

    Args:
        owner: The environment, or several.
        pid: Id of the other process that made its session; None if the session was closed or lost.
    """
    text = "is closed, or its session was lost; reset() makes it again"
    if pid is not None:
        text = f"was made in process {pid}, before a fork; reset() makes one for this process"
    return errors.SessionClosedError(f"{owner} {text}")
