"""Steps that are sent before earlier ones are answered, and their answers in order.

The session keeps the answers that its client has not received (see `docs/protocol.md`), so when the connection breaks,
all requests in flight are sent again and none is served twice.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Protocol

from envwire.client._session.client_session import ClientSession
from envwire.client._session.operations import Step, StepAhead
from envwire.client._session.repeating import Connection, awaited, settled, tried_again
from envwire.client._session.states import Event, Refused
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Reply

#: The capability of a session that keeps the answers which its client has not received.
AHEAD = "ahead"
#: The capability of a session that says when its steps were taken.
TIMES = "times"
#: Most requests in flight, one more than a step may name as unanswered.
MAX_IN_FLIGHT = 64
#: Most bytes of requests in flight, but for the first: what the buffers of two sockets hold, so that sending never
#: waits for a server that itself waits until its answers are read.
_MAX_BYTES = 65536


class AheadConnection(Connection, Protocol):
    """A connection of a session that carries several requests at a time."""

    def send_ahead(self, request: bytes, timeout: float) -> None:
        """Sends a request without waiting for earlier answers (see `Transport.send_ahead`)."""

    async def await_ahead(self, timeout: float) -> Reply:
        """Waits for the answer to the oldest request (see `Transport.receive_ahead`)."""
        ...


@dataclass(eq=False, slots=True)
class Sent:
    """A step in flight.

    Attributes:
        length: Length of its request, in bytes.
        at: When it was sent.
        event: Its outcome; None while it is unanswered.
        received: When that had come.
    """

    length: int
    at: float
    event: Event | None = None
    received: float = 0.0


class StepsAhead:
    """The steps in flight of one session.

    Args:
        session: The session.
        connection: Its connection.
    """

    def __init__(self, session: ClientSession, connection: AheadConnection) -> None:
        self._session = session
        self._connection = connection
        self._in_flight: deque[Sent] = deque()
        #: Why the last request could not be sent.
        self._failure: ServerUnavailableError | None = None
        #: Whether the connection broke, so that all requests in flight have to be sent again.
        self._cut = False

    @property
    def _timed(self) -> bool:
        """Whether the session can say when its steps were taken."""
        return TIMES in self._session.capabilities

    def __len__(self) -> int:
        """Returns the number of steps in flight."""
        return len(self._in_flight)

    def send(self, action: Any) -> Sent | None:
        """Sends a step; returns None if it has to wait for earlier answers.

        Raises:
            InvalidRequestError: The action cannot be sent.
        """
        session, ahead = self._session, len(self._in_flight)
        if not ahead:
            self._failure, self._cut = None, False
            first = StepAhead(action, 0, timed=True) if self._timed else Step(action)
            request = session.next_request(first)
        elif ahead == MAX_IN_FLIGHT:
            return None
        else:
            room = _MAX_BYTES - sum(sent.length for sent in self._in_flight)
            behind = session.request_behind(StepAhead(action, ahead, self._timed), room)
            if behind is None:
                return None
            request = behind
        sent = Sent(len(request), monotonic())
        self._in_flight.append(sent)
        if self._failure is None and not self._cut:
            self._send(request)
        return sent

    def _send(self, request: bytes) -> None:
        try:
            self._connection.send_ahead(request, self._session.timeout)
        except ServerUnavailableError as failure:
            self._failure = failure  # `receive` handles it, like a failure to receive
        except BaseException:
            self._cut = True
            self._session.give_up()
            raise

    async def receive(self) -> None:
        """Waits for the answer to the oldest step in flight, and repeats all of them as needed until it is answered.

        Raises:
            RemoteError: It is not answered; it is still in flight, and in doubt.
        """
        session = self._session
        try:
            event = await self._outcome()
        except BaseException as error:
            if session.pending or not isinstance(error, Exception):
                raise
            event = Refused(error)
        first = self._in_flight.popleft()
        first.event, first.received = event, monotonic()
        if session.behind and session.closable:
            session.promote()
            return
        while self._in_flight:  # the session has ended, or lost count
            self._in_flight.popleft().event = event

    async def _outcome(self) -> Event:
        session, connection = self._session, self._connection
        if session.in_doubt:
            self._cut = True
            repeat = partial(connection.ask, session.repeat(), session.timeout)
            return await awaited(session, connection, repeat)
        try:
            reply = await self._reply()
        except BaseException as failure:
            self._cut = True
            event = await tried_again(session, connection, failure)
        else:
            event = session.receive(reply.message, reply.area)
        return await settled(session, connection, event)

    async def _reply(self) -> Reply:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        session = self._session
        if self._cut:
            for request in session.unanswered:
                self._connection.send_ahead(request, session.timeout)
            self._cut = False
        return await self._connection.await_ahead(session.timeout)

    async def complete(self) -> None:
        """Waits for all answers, before another request of the session; whoever sent the steps finds them there.

        Raises:
            RemoteError: One stays unanswered.
        """
        while self._in_flight:
            await self.receive()
