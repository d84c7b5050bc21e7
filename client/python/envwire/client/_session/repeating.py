"""Flows for requests without a direct answer: send again, send under another number, or give up. No I/O.

Both drivers run them. A request that is answered at once needs none.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

from google.protobuf.message import DecodeError

from envwire.client import errors
from envwire.client._errors.connections import server_gone, server_unreachable
from envwire.client._errors.faults import broken_answer
from envwire.client._session.client_session import ClientSession
from envwire.client._session.events import Event, Refused, SendAgain
from envwire.client._session.flows import Pause
from envwire.wire.frames import Reply

_log = logging.getLogger("envwire.client")


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request; the reply is returned.

    Attributes:
        request: The request.
        timeout: Seconds to wait for the reply.
    """

    request: bytes
    timeout: float


class Take:
    """Wait for the reply to a request that was already sent."""


Effect: TypeAlias = Send | Take | Pause
Repeating: TypeAlias = Generator[Effect, Reply, Event]


def settled(session: ClientSession, event: Event) -> Repeating:
    """Sends the pending request again under another number while the server asks for one.

    Args:
        session: The session.
        event: The outcome of the request so far.
    """
    while isinstance(event, SendAgain):
        event = yield from _answer(session, Send(event.request, session.retries.time_left()))
    return event


def tried_again(session: ClientSession, failure: BaseException) -> Repeating:
    """Sends the pending request again, on new connections, until it is answered or its time is over.

    Args:
        session: The session.
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
            yield Pause(pause)
            reply = yield Send(session.repeat(), retries.time_left())
        except BaseException as again:
            failure = again
        else:
            if failures:
                _log.info("%s: goes on after %.1f s", session.label, retries.outage)
            return session.receive(reply.message, reply.area)
    if isinstance(failure, errors.InvalidRequestError):
        session.take_back()
    else:
        session.give_up()
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


def awaited(session: ClientSession, effect: Send | Take) -> Repeating:
    """Waits for a reply, and repeats the request as needed until it is answered.

    Args:
        session: The session.
        effect: The effect that gets the reply.
    """
    event = yield from _answer(session, effect)
    return (yield from settled(session, event))


def _answer(session: ClientSession, effect: Send | Take) -> Repeating:
    try:
        reply = yield effect
    except BaseException as failure:
        return (yield from tried_again(session, failure))
    return session.receive(reply.message, reply.area)


def discarded(session: ClientSession) -> Generator[Effect, Reply, None]:
    """Completes a request whose caller was interrupted or gave up, and discards the answer.

    Args:
        session: The session.

    Raises:
        RemoteError: The answer says that the session has ended, or there is still no answer.
    """
    effect = Send(session.repeat(), session.timeout) if session.in_doubt else Take()
    try:
        event = yield from awaited(session, effect)
    except (errors.ServerUnavailableError, errors.RequestTimeoutError):
        raise
    except errors.RemoteError:  # sending it again cannot help
        if session.in_doubt:
            session.take_back()
        return
    if isinstance(event, Refused) and not session.closable:
        raise event.error
