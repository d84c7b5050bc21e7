"""A link between a client's session and a server's session, without sockets and processes, with the test's clock.

A fate decides what happens to each message. A delayed message arrives later, after others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

from envwire.client._session.client_session import ClientSession
from envwire.client._session.operations import Operation
from envwire.client._session.recording import Recording
from envwire.client._session.states import Answered, Event, Refused, SendAgain
from envwire.client.errors import ServerUnavailableError
from envwire.codec import envwire_family
from envwire.server._session.session import Session
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Reply


class Fate(Enum):
    """What happens to a request and its answer."""

    ARRIVE = "both arrive"
    ARRIVE_TWICE = "the request arrives twice, and one answer is read"
    CUT_BEFORE = "the connection breaks before the request arrives"
    CUT_AFTER = "the request is served, and the connection breaks before the answer arrives"
    CUT_AND_LATE = "the connection breaks, and the request arrives some time later"
    LOST = "the request is lost, and the client waits until its time is up"
    UNANSWERED = "the request is served, and the client waits for the answer until its time is up"
    LATE = "the client waits until its time is up, and the request arrives some time later"


_CUTS = frozenset({Fate.CUT_BEFORE, Fate.CUT_AFTER, Fate.CUT_AND_LATE})
_SERVED = frozenset({Fate.ARRIVE, Fate.ARRIVE_TWICE, Fate.CUT_AFTER, Fate.UNANSWERED})
_HELD_BACK = frozenset({Fate.CUT_AND_LATE, Fate.LATE})


class TimeIsUpError(Exception):
    """The client gave up waiting."""


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Link:
    """Carries the messages of one client's session.

    Args:
        env: The environment on the server.
        recording: Takes what changes it.

    Attributes:
        client: The client's session, made.
        server: The server's session.
    """

    def __init__(self, env: Any, recording: Recording | None = None) -> None:
        self._clock = Clock()
        self._held_back: list[bytes] = []
        self.server = Session(env, envwire_family())
        self.client = ClientSession(envwire_family(), 30.0, recording, clock=self._clock)
        self.client.make_request(pb.MakeRequest())
        made = pb.MakeResponse(session_id="session", secret=b"secret")
        made.lease.FromSeconds(1000)
        self.client.receive(pb.InteractResponse(make=made).SerializeToString())

    def release(self) -> None:
        """Delivers delayed messages; their answers are discarded."""
        held, self._held_back = self._held_back, []
        for request in held:
            self.server.handle(request)

    def ask(self, operation: Operation[Any], fates: Iterable[Fate] = ()) -> Any:
        """Asks the server something, over as many connections as it takes.

        Args:
            operation: What.
            fates: Of the request each time that it is sent; when they are used up, all arrive.

        Raises:
            TimeIsUpError: The client gave up.
        """
        turns = iter(fates)
        while self.client.in_doubt:
            self._settled(self._carried(self.client.repeat(), next(turns, Fate.ARRIVE)), turns)
        request = self.client.next_request(operation)
        event = self._settled(self._carried(request, next(turns, Fate.ARRIVE)), turns)
        if isinstance(event, Answered):
            return event.result
        raise event.error if isinstance(event, Refused) else TimeIsUpError

    def _settled(self, event: Event | float | None, turns: Iterator[Fate]) -> Event | None:
        """Sends the pending request again for as long as that is the session's advice."""
        while isinstance(event, (SendAgain, float)):
            again = event.request if isinstance(event, SendAgain) else self._repeated(event)
            event = self._carried(again, next(turns, Fate.ARRIVE))
        return event

    def _repeated(self, pause: float) -> bytes:
        self._clock.now += pause
        return self.client.repeat()

    def _carried(self, request: bytes, fate: Fate) -> Event | float | None:
        """Returns the answer, the pause before the request is sent again, or None if it was given up."""
        answer = Reply(self.server.handle(request).message) if fate in _SERVED else None
        if fate is Fate.ARRIVE_TWICE:
            assert self.server.handle(request).message == (answer.message if answer else b"")
        if fate in _HELD_BACK:
            self._held_back.append(request)
        if fate in _CUTS:
            failure = ServerUnavailableError("cut")
            failure.connected = True
            return self.client.connection_lost(failure)
        if answer is None or fate is Fate.UNANSWERED:
            self._clock.now = self.client.retries.deadline
            self.client.give_up()
            return None
        return self.client.receive(answer.message, answer.area)
