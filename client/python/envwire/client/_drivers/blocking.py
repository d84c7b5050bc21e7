"""The blocking driver: sends a session's requests, waits for replies, and passes them to the session."""

from __future__ import annotations

import threading
import time
from typing import Any, TypeVar

from envwire.client._drivers.outcome import Outcome
from envwire.client._drivers.this_process import THIS_PROCESS
from envwire.client._session.client_session import ClientSession
from envwire.client._session.events import Answered, Event
from envwire.client._session.flows import run
from envwire.client._session.operations import Close, Operation
from envwire.client._session.repeating import (
    Effect,
    Send,
    Take,
    awaited,
    discarded,
    settled,
    tried_again,
)
from envwire.client._session.states import State
from envwire.client._transports.portability import POLLIN, new_poll
from envwire.client._transports.transport import InPlace, Transport
from envwire.client.errors import ServerUnavailableError
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area, Reply

#: Bound once: Python 3.11 takes 900 instructions to find a member of an Enum.
_READY = State.READY
_T = TypeVar("_T")


class BlockingDriver:
    """A session and the connection to it.

    Args:
        session: The session, not made yet.
        transport: Makes the connections.
        label: Names the session in the log, and as the place of warnings that the environment gave.

    Attributes:
        session: The session.
        pid: The process that it was made in.
    """

    def __init__(self, session: ClientSession, transport: Transport, label: str) -> None:
        self.session = session
        self.pid = THIS_PROCESS.pid
        self.use(transport)
        self._label = label
        self._outcome = Outcome(label)
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._reply: Reply | None = None

    def use(self, transport: Transport) -> None:
        """Goes on over another transport: one around its own."""
        self._transport = transport
        self._in_place = transport if isinstance(transport, InPlace) else None

    @property
    def transport(self) -> Transport:
        """What makes the connections."""
        return self._transport

    @property
    def label(self) -> str:
        """Names the session in the log."""
        return self._label

    @property
    def lease(self) -> float:
        """Seconds that the session outlives this program."""
        return self.session.lease

    def make(self, request: pb.MakeRequest) -> pb.MakeResponse:
        """Makes the environment.

        Raises:
            RemoteError: The server refused, or the environment could not be made.
        """
        session = self.session
        raw = session.make_request(request)
        try:
            reply = self._transport.exchange(raw, session.timeout)
        except BaseException as failure:
            event = self._try_again(failure)
        else:
            event = session.receive(reply.message, reply.area)
        made: pb.MakeResponse = self._outcome.of(event)
        return made

    def serve(self, operation: Operation[_T]) -> _T:
        """Sends a request and returns what its answer says.

        Raises:
            RemoteError: The session cannot serve it, or ended.
            Exception: Whatever the environment raised.
        """
        session = self.session
        with self._lock:
            if session.state is not _READY and session.pending:
                self._drop_pending()
            request = session.next_request(operation)
            try:
                reply = self._transport.exchange(request, session.timeout, session.header)
            except BaseException as failure:
                event = self._try_again(failure)
            else:
                event = session.receive(reply.message, reply.area)
                if type(event) is Answered and not event.warnings:
                    return event.result  # type: ignore[no-any-return]
            if type(event) is not Answered:
                event = run(settled(session, event, self._label), self._perform)
        return self._outcome.of(event)  # type: ignore[no-any-return]

    def begin(self, operation: Operation[Any]) -> None:
        """Sends a request; `finish` returns what its answer says. In between, other sessions work at the same time."""
        session = self.session
        with self._lock:
            if session.state is not _READY and session.pending:
                self._drop_pending()
            self._failure = self._reply = None
            request = session.next_request(operation)
            try:
                self._transport.send(request, session.timeout, session.header)
            except ServerUnavailableError as failure:  # told when it is waited for, as any
                self._failure = failure
            except BaseException:
                session.give_up()
                raise

    def finish(self) -> Any:
        """Waits for the answer to what was begun, and returns what it says.

        Raises:
            RemoteError: The session cannot serve it, or ended.
            Exception: Whatever the environment raised.
        """
        session = self.session
        with self._lock:
            if self.await_reply() and (reply := self._taken()) is not None:
                event = session.receive(reply.message, reply.area)
                if type(event) is not Answered:
                    event = run(settled(session, event, self._label), self._perform)
            else:
                event = run(awaited(session, Take(), self._label), self._perform)
        return self._outcome.of(event)

    def await_reply(self) -> bool:
        """Waits until the answer to what was begun is here, or the connection broke.

        Returns:
            Whether it is here. If not, `finish` connects again, which may take its time.
        """
        if self._failure is None and self._reply is None:
            try:
                self._reply = self._transport.receive()
            except Exception as failure:
                self._failure = failure
            except BaseException:
                self.session.give_up()
                raise
        return self._failure is None

    def _drop_pending(self) -> None:
        """Discards the pending answer of a caller that was interrupted or gave up (see `discarded`)."""
        if not self.session.in_doubt:
            self.await_reply()
        run(discarded(self.session, self._label), self._perform)

    def _try_again(self, failure: BaseException) -> Event:
        return run(tried_again(self.session, failure, self._label), self._perform)

    def _perform(self, effect: Effect) -> Reply | None:
        if isinstance(effect, Send):
            return self._transport.exchange(effect.request, effect.timeout, self.session.header)
        if isinstance(effect, Take):
            return self._taken()
        time.sleep(effect.seconds)
        return None

    def _taken(self) -> Reply | None:
        """Returns the reply that was waited for, or raises how it failed."""
        failure, self._failure = self._failure, None
        reply, self._reply = self._reply, None
        if failure is not None:
            raise failure
        return reply

    def fileno(self) -> int:
        """Returns what is readable once `finish` need not wait; -1 where only `finish` can tell."""
        return -1 if self._failure is not None else self._transport.fileno()

    def offer(self, buffer: Area) -> None:
        """Says where the attachments of the next reply may go, to a transport that receives them in place."""
        if self._in_place is not None:
            self._in_place.offer(buffer)

    def keep_alive(self) -> None:
        """Renews the lease, without waiting."""
        self._transport.keep_alive(self.session.renewal(), self.session.header)

    def stats(self) -> pb.GetSessionStatsResponse:
        """Returns how the session's time was spent on the server."""
        session = self.session
        reply = self._transport.exchange(session.stats_request(), session.timeout, session.header)
        return self._outcome.of_unnumbered(reply).get_session_stats

    def close(self, timeout: float | None = None) -> None:
        """Closes the environment and frees the transport.

        Args:
            timeout: Seconds that it may take in all; by default as long as any request.

        Raises:
            RemoteError: The environment was not closed, or told an error; the transport is freed all the same.
        """
        try:
            self.begin_close(timeout)
            if self.session.pending:
                self.finish()
        finally:
            self.kill()

    def begin_close(self, timeout: float | None = None) -> None:
        """Sends a Close; for its arguments see `close`.

        A session that is abandoned in the middle of a request is left to its lease if the answer is not there yet.
        """
        session = self.session
        if timeout is not None:
            session.timeout = min(session.timeout, timeout)
        free = self._lock.acquire(timeout=session.timeout)
        if free:
            self._lock.release()
        if not free or not session.closable or not self._is_idle(timeout):
            return
        self.begin(Close())

    def _is_idle(self, timeout: float | None) -> bool:
        """Tells whether no answer is missing, or it comes in time."""
        if timeout is None or not self.session.pending:
            return True
        if (descriptor := self.fileno()) < 0:
            return False
        poll = new_poll()
        poll.register(descriptor, POLLIN)
        return bool(poll.poll(timeout * 1000))

    def kill(self) -> None:
        """Frees the connection of a session that is no more, or that its lease shall end."""
        self._transport.close()
