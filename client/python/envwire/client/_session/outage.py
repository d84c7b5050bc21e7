"""Decides how long a request is repeated after its connection broke, and logs it. No I/O."""

from __future__ import annotations

import logging

from envwire.client._errors.connections import server_gone, server_unreachable
from envwire.client._session.client_session import ClientSession
from envwire.client._session.events import RetryAfter
from envwire.client.errors import InvalidRequestError, ServerUnavailableError

_log = logging.getLogger("envwire.client")


class Outage:
    """One request whose connection broke.

    Args:
        session: The session that has the request pending.
        label: Names the session in the log and in errors.
    """

    def __init__(self, session: ClientSession, label: str) -> None:
        self._session = session
        self._label = label
        self._failures = 0
        self._told: bool | None = None

    def pause(self, failure: BaseException) -> float:
        """Takes a failure; returns seconds to wait before the request is sent again, on a new connection.

        Raises:
            BaseException: It is not sent again.
        """
        session = self._session
        if not isinstance(failure, ServerUnavailableError):
            if isinstance(failure, InvalidRequestError):
                session.take_back()
            else:
                session.give_up()
            raise failure
        event = session.connection_lost(failure)
        if not isinstance(event, RetryAfter):
            raise self._given_up(failure)
        if session.lease:
            self._tell(failure, event.left)
        return event.pause

    def _tell(self, failure: ServerUnavailableError, left: float) -> None:
        """Logs how long attempts continue, once that is known, which it may not be at the first failure."""
        self._failures += 1
        if self._failures > 1 and self._told is not failure.refused:
            self._told = failure.refused
            _log.warning("%s: %s; trying again for up to %.0f s", self._label, failure, left)

    def _given_up(self, failure: ServerUnavailableError) -> ServerUnavailableError:
        session = self._session
        if not session.lease or failure.silent or not self._failures:
            return failure
        if failure.refused:
            return server_gone(self._label, session.outage, failure)
        return server_unreachable(self._label, session.outage, session.lease, failure)

    def over(self) -> None:
        """Logs that the connection was restored, at the first attempt as well."""
        if self._failures:
            _log.info("%s: goes on after %.1f s", self._label, self._session.outage)
