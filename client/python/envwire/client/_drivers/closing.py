"""Closing is idempotent: a session that is already gone, or whose server is unreachable, counts as closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.concurrently import outcomes
from envwire.client.errors import (
    NotAllowedError,
    RemoteError,
    ServerUnavailableError,
    SessionError,
    StepTimeoutError,
)

#: What says that there is nothing left to close.
_GONE = (SessionError, ServerUnavailableError, NotAllowedError)


def close(session: BlockingDriver) -> None:
    """Closes a session.

    Raises:
        Exception: Whatever the environment raised.
    """
    try:
        session.close()
    except RemoteError as error:
        if is_news(error):
            raise


def close_all(sessions: Sequence[BlockingDriver]) -> None:
    """Closes sessions at the same time.

    Raises:
        Exception: The first of what the environments raised.
    """
    begun, failures = outcomes(partial(_each, BlockingDriver.begin_close), sessions)
    waited = [session for session in begun if session.session.pending]
    failures += outcomes(partial(_each, BlockingDriver.finish), waited)[1]
    for session in sessions:
        session.kill()
    for error in filter(is_news, failures):
        raise error


def _each(function: Callable[[BlockingDriver], object], session: BlockingDriver) -> BlockingDriver:
    function(session)
    return session


def is_news(error: Exception) -> bool:
    """Tells whether a session did not just turn out to be gone; an environment that hung while it closed is news."""
    return isinstance(error, StepTimeoutError) or not isinstance(error, _GONE)
