"""Requests without a direct answer: sent again, sent under another number, or given up.

Both drivers use these coroutines, each with its own `Connection`. A request that is answered at once needs none.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from google.protobuf.message import DecodeError

from envwire.client import errors
from envwire.client._errors import broken_answer, server_gone, server_unreachable, timed_out
from envwire.client._session.client_session import ClientSession
from envwire.client._session.states import Event, Refused, SendAgain
from envwire.wire.frames import Reply

_log = logging.getLogger("envwire.client")


class Connection(Protocol):
    """The I/O of one session."""

    async def ask(self, request: bytes, timeout: float) -> Reply:
        """Sends a request and returns its reply.

        Args:
            request: The request.
            timeout: Seconds to wait for the reply.
        """
        ...

    async def reply(self) -> Reply:
        """Returns the reply to the request that was sent last."""
        ...

    async def pause(self, seconds: float) -> None:
        """Waits."""


async def settled(session: ClientSession, connection: Connection, event: Event) -> Event:
    """Sends the pending request again under another number while the server asks for one.

    Args:
        session: The session.
        connection: Its connection.
        event: The outcome of the request so far.
    """
    while isinstance(event, SendAgain):
        ask = partial(connection.ask, event.request, session.retries.time_left())
        event = await _answer(session, connection, ask)
    return event


async def tried_again(
    session: ClientSession, connection: Connection, failure: BaseException
) -> Event:
    """Sends the pending request again, on new connections, until it is answered or its time is over.

    Args:
        session: The session.
        connection: Its connection.
        failure: The first failure.

    Raises:
        RemoteError: The answer cannot be parsed.
        BaseException: The last failure.
    """
    retries, failures = session.retries, 0
    logged: bool | None = None  # whether the failure that was logged last was a refusal
    while isinstance(failure, errors.ServerUnavailableError):
        pause = session.connection_lost(failure)
        if pause is None:
            raise _given_up(session, failure) if failures else failure
        failures += bool(retries.lease)  # a Make has none, and is repeated without a word
        if failures > 1 and logged is not failure.refused:  # the first retry is immediate
            logged = failure.refused
            _log_retry(session, failure)
        try:
            await connection.pause(pause)
            reply = await connection.ask(session.repeat(), retries.time_left())
        except BaseException as again:
            failure = again
        else:
            if failures:
                _log.info("%s: goes on after %.1f s", session.label, retries.outage)
            return session.receive(reply.message, reply.area)
    if isinstance(failure, errors.InvalidRequestError):
        session.rollback_unsent()
    else:
        session.give_up()
    if isinstance(failure, errors.RequestTimeoutError) and failures:
        raise timed_out(session.label, session.timeout, failures + 1) from failure
    if isinstance(failure, DecodeError):  # transports read where a session was made, and notices
        raise broken_answer(session.label, failure) from failure
    raise failure


def _log_retry(session: ClientSession, failure: errors.ServerUnavailableError) -> None:
    """Logs how long attempts continue."""
    left = session.retries.left
    seconds = f"{left:.0f}" if left >= 1.0 else f"{left:.1g}"
    then = ", then elsewhere" if session.retries.elsewhere else ""
    text = f"%s: %s; trying again for up to %s s{then}"
    _log.warning(text, session.label, failure, seconds)


def _given_up(session: ClientSession, last: errors.ServerUnavailableError) -> errors.RemoteError:
    """Returns the error for a request that was repeated in vain, from its last failure."""
    retries = session.retries
    if last.silent:
        return last
    if last.refused:
        return server_gone(session.label, retries.outage, last, others=retries.elsewhere)
    return server_unreachable(session.label, retries.outage, retries.lease, last)


async def awaited(
    session: ClientSession, connection: Connection, ask: Callable[[], Awaitable[Reply]]
) -> Event:
    """Waits for a reply, and repeats the request as needed until it is answered.

    Args:
        session: The session.
        connection: Its connection.
        ask: Called once; returns the reply.
    """
    return await settled(session, connection, await _answer(session, connection, ask))


async def _answer(
    session: ClientSession, connection: Connection, ask: Callable[[], Awaitable[Reply]]
) -> Event:
    try:
        reply = await ask()
    except BaseException as failure:
        return await tried_again(session, connection, failure)
    return session.receive(reply.message, reply.area)


async def discarded(session: ClientSession, connection: Connection) -> None:
    """Completes a request whose caller was interrupted or gave up, and discards the answer.

    Args:
        session: The session.
        connection: Its connection.

    Raises:
        RemoteError: The answer says that the session has ended, or there is still no answer.
    """
    ask: Callable[[], Awaitable[Reply]] = connection.reply
    if session.in_doubt:
        ask = partial(connection.ask, session.repeat(), session.timeout)
    try:
        event = await awaited(session, connection, ask)
    except (errors.ServerUnavailableError, errors.RequestTimeoutError):
        raise
    except errors.RemoteError:  # sending it again cannot help
        if session.in_doubt:
            session.rollback_unsent()
        return
    if isinstance(event, Refused) and not session.closable:
        raise event.error
