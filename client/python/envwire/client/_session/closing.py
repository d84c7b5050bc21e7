"""Closing sessions. One that is gone, or whose server is or lets nobody in, is closed already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from envwire.client._drivers.concurrently import outcomes
from envwire.client._session.remote_session import RemoteSession
from envwire.client._vector.session import VectorSession
from envwire.client.errors import (
    NotAllowedError,
    RemoteError,
    ServerUnavailableError,
    SessionError,
    StepTimeoutError,
)

#: What says that there is nothing left to close.
_GONE = (SessionError, ServerUnavailableError, NotAllowedError)


def close(session: RemoteSession) -> None:
    """Closes a session.

    Raises:
        Exception: Whatever the environment raised.
    """
    try:
        session.close()
    except RemoteError as error:
        if _is_news(error):
            raise


def close_all(sessions: Sequence[VectorSession]) -> None:
    """Closes sessions at the same time.

    Raises:
        Exception: The first of what the environments raised.
    """
    failures: list[Exception] = []
    begun = list(sessions)
    for half in (VectorSession.begin_close, VectorSession.finish):
        begun, failed = outcomes(partial(_closing, half), begun)
        failures += failed
    for session in sessions:
        session.drop()
    for error in filter(_is_news, failures):
        raise error


def _closing(half: Callable[[VectorSession], object], session: VectorSession) -> VectorSession:
    half(session)
    return session


def _is_news(error: Exception) -> bool:
    """Tells whether a session did not just turn out to be gone; an environment that hung while it closed is news."""
    return isinstance(error, StepTimeoutError) or not isinstance(error, _GONE)
