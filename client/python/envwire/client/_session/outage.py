"""Decides how long a request is repeated after its connection broke, and logs it. No I/O."""

from __future__ import annotations

import logging

from envwire.client._errors.connections import server_gone, server_unreachable
from envwire.client._session.client_session import ClientSession
from envwire.client.errors import InvalidRequestError, ServerUnavailableError

_log = logging.getLogger("envwire.client")


class Outage:
    """The outage of one request, whose connection broke.

    Args:
        session: The session whose request is pending.
    """

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self._failures = 0
        #: `refused` of the failure that was logged last.
        self._logged: bool | None = None

    def pause(self, failure: BaseException) -> float:
        """Returns the seconds to wait after a failure before the request is sent again, on a new connection.

        Raises:
            BaseException: The request is not sent again.
        """
        session = self._session
        if not isinstance(failure, ServerUnavailableError):
            if isinstance(failure, InvalidRequestError):
                session.take_back()
            else:
                session.give_up()
            raise failure
        pause = session.connection_lost(failure)
        if pause is None:
            raise self._given_up(failure)
        if session.retries.lease:
            self._log_retry(failure, session.retries.left)
        return pause

    def _log_retry(self, failure: ServerUnavailableError, left: float) -> None:
        """Logs how long attempts continue, from the second failure on: the first retry is immediate."""
        self._failures += 1
        if self._failures > 1 and self._logged is not failure.refused:
            self._logged = failure.refused
            seconds = f"{left:.0f}" if left >= 1.0 else f"{left:.1g}"
            then = ", then elsewhere" if self._session.retries.elsewhere else ""
            text = f"%s: %s; trying again for up to %s s{then}"
            _log.warning(text, self._session.label, failure, seconds)

    def _given_up(self, failure: ServerUnavailableError) -> ServerUnavailableError:
        session = self._session
        lease = session.retries.lease
        if not lease or failure.silent or not self._failures:
            return failure
        if failure.refused:
            others = session.retries.elsewhere
            return server_gone(session.label, session.outage, failure, others=others)
        return server_unreachable(session.label, session.outage, lease, failure)

    def over(self) -> None:
        """Logs that the connection was restored."""
        if self._failures:
            _log.info("%s: goes on after %.1f s", self._session.label, self._session.outage)
