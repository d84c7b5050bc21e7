"""Flows for requests without a direct answer: send again, send under another number, or give up. No I/O.

Both drivers run them. A request that is answered at once needs none.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

from envwire.client._session.client_session import ClientSession
from envwire.client._session.events import Event, Refused, SendAgain
from envwire.client._session.flows import Pause
from envwire.client._session.outage import Outage
from envwire.client.errors import RemoteError, RequestTimeoutError, ServerUnavailableError
from envwire.wire.frames import Reply


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
        event = yield from _answer(session, Send(event.request, session.time_left()))
    return event


def tried_again(session: ClientSession, failure: BaseException) -> Repeating:
    """Sends the pending request again, on new connections, until it is answered or its time is over.

    Args:
        session: The session.
        failure: The first failure.

    Raises:
        BaseException: The last failure.
    """
    outage = Outage(session)
    while True:
        pause = outage.pause(failure)
        try:
            yield Pause(pause)
            reply = yield Send(session.repeat(), session.time_left())
        except BaseException as again:
            failure = again
        else:
            outage.over()
            return session.receive(reply.message, reply.area)


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
    except (ServerUnavailableError, RequestTimeoutError):
        raise
    except RemoteError:  # sending it again cannot help
        if session.in_doubt:
            session.take_back()
        return
    if isinstance(event, Refused) and not session.closable:
        raise event.error
