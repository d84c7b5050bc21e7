"""The blocking driver: sends a session's requests, waits for replies, and passes them to the session."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any, TypeVar

from envwire.client._drivers.ahead import AHEAD, Sent, StepsAhead
from envwire.client._drivers.coroutines import run
from envwire.client._errors import should_report
from envwire.client._session import repeating
from envwire.client._session.client_session import ClientSession
from envwire.client._session.operations import Close, Operation
from envwire.client._session.requests import RENEW_LEASE
from envwire.client._session.states import Answered, Event, Outcome, State
from envwire.client._transports.portability import POLLIN, THIS_PROCESS, new_poll
from envwire.client._transports.transport import ARRIVED, Transport
from envwire.client.errors import RemoteError, ServerUnavailableError
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area, Reply

#: Bound once: Python 3.11 takes 900 instructions to find a member of an Enum.
_READY = State.READY
_T = TypeVar("_T")


class BlockingDriver:
    """A session and the connection to it.

    Args:
        session: The session, not made yet.
        transport: The transport to its server.

    Attributes:
        session: The session.
        pid: Id of the process that made it.
        transport: The transport to its server.
    """

    def __init__(self, session: ClientSession, transport: Transport) -> None:
        self.session = session
        self.pid = THIS_PROCESS.pid
        self.transport = transport
        self._outcome = Outcome(session.label)
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._reply: Reply | None = None
        #: Whether the pending request was sent by `begin`, so that its reply is yet to be received.
        self._begun = False
        self._steps_ahead = StepsAhead(session, self)

    @property
    def blocking(self) -> BlockingDriver:
        """The driver itself; an asyncio driver has the blocking one that made its session."""
        return self

    def make(self, request: pb.MakeRequest) -> pb.MakeResponse:
        """Makes the environment.

        Raises:
            RemoteError: The server refuses, or the environment cannot be made.
        """
        session = self.session
        ask = partial(self.ask, session.make_request(request), session.timeout)
        event = run(repeating.awaited(session, self, ask))
        return self._outcome.unwrap(event)  # type: ignore[no-any-return]

    def serve(self, operation: Operation[_T]) -> _T:
        """Sends a request and returns its result.

        Raises:
            RemoteError: The session cannot serve the request, or has ended.
            Exception: Any exception of the environment.
        """
        session = self.session
        with self._lock:
            if session.state is not _READY and session.pending:
                self._drop_pending()
            self._begun = False
            request = session.next_request(operation)
            try:
                reply = self.transport.exchange(request, session.timeout, session.header)
            except BaseException as failure:
                event = run(repeating.tried_again(session, self, failure))
            else:
                event = session.receive(reply.message, reply.area)
                if type(event) is Answered and not event.warnings:
                    return event.result  # type: ignore[no-any-return]
            if type(event) is not Answered:
                event = run(repeating.settled(session, self, event))
        return self._outcome.unwrap(event)  # type: ignore[no-any-return]

    def begin(self, operation: Operation[Any]) -> None:
        """Sends a request; `finish` returns its result. Other sessions can work in the meantime."""
        session = self.session
        with self._lock:
            if session.state is not _READY and session.pending:
                self._drop_pending()
            self._failure, self._reply, self._begun = None, None, True
            request = session.next_request(operation)
            try:
                self.transport.send(request, session.timeout, session.header)
            except ServerUnavailableError as failure:
                # `finish` handles it, like a failure to receive.
                self._failure = failure
            except BaseException:
                session.give_up()
                raise

    def finish(self) -> Any:
        """Waits for the answer to the request that `begin` sent, and returns its result.

        Raises:
            RemoteError: The session cannot serve the request, or has ended.
            Exception: Any exception of the environment.
        """
        session = self.session
        with self._lock:
            if self._reply is None:
                self.await_reply()
            reply, self._reply = self._reply, None
            if reply is not None:
                event = session.receive(reply.message, reply.area)
                if type(event) is not Answered:
                    event = run(repeating.settled(session, self, event))
            else:
                event = run(repeating.awaited(session, self, self.reply))
        return self._outcome.unwrap(event)

    def await_reply(self) -> bool:
        """Waits until the answer to the request that `begin` sent has arrived, or the connection has broken.

        Returns:
            Whether it has arrived. If not, `finish` connects again, which may take long.
        """
        if self._failure is None and self._reply is None:
            try:
                self._reply = self.transport.receive()
            except Exception as failure:
                self._failure = failure
            except BaseException:
                self.session.give_up()
                raise
        return self._failure is None

    @property
    def sends_ahead(self) -> bool:
        """Whether a step can be sent now, before earlier ones are answered."""
        session = self.session
        if AHEAD not in session.capabilities:
            return False
        return self.transport.pipelines and (session.state is _READY or bool(self._steps_ahead))

    @property
    def in_flight(self) -> int:
        """How many steps that were sent ahead are unanswered."""
        return len(self._steps_ahead)

    def step_ahead(self, action: Any) -> Sent | None:
        """Sends a step without waiting for earlier answers (see `StepsAhead.send`)."""
        with self._lock:
            return self._steps_ahead.send(action)

    async def receive_ahead(self) -> None:
        """Waits for the answer to the oldest step in flight (see `StepsAhead.receive`)."""
        with self._lock:
            run(self._steps_ahead.receive())

    def outcome_of(self, event: Event) -> Any:
        """Returns the result of a step that was sent ahead, or raises its error."""
        return self._outcome.unwrap(event)

    def send_ahead(self, request: bytes, timeout: float) -> None:
        """Sends a request (see `AheadConnection.send_ahead`)."""
        self.transport.send_ahead(request, timeout, self.session.header)

    async def await_ahead(self, timeout: float) -> Reply:
        """Waits for a reply (see `AheadConnection.await_ahead`)."""
        return self.transport.receive_ahead(timeout)

    def _drop_pending(self) -> None:
        """Completes a request whose caller was interrupted or gave up (see `discarded`), or steps sent ahead."""
        if self._steps_ahead:
            run(self._steps_ahead.complete())
            return
        if not self.session.in_doubt:
            if self._begun:
                self.await_reply()
            else:  # its caller was interrupted just before it was sent, or just after it was answered
                self.session.give_up()
        run(repeating.discarded(self.session, self))

    async def ask(self, request: bytes, timeout: float) -> Reply:
        """Sends a request and returns its reply (see `Connection.ask`)."""
        return self.transport.exchange(request, timeout, self.session.header)

    async def reply(self) -> Reply:
        """Returns what `await_reply` received, or raises what it caught (see `Connection.reply`)."""
        failure, self._failure = self._failure, None
        reply, self._reply = self._reply, None
        if failure is not None:
            raise failure
        assert reply is not None  # noqa: S101 - `await_reply` sets one of them
        return reply

    async def pause(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)

    def fileno(self) -> int:
        """Returns what to poll for the reply (see `Transport.fileno`); -1 if `finish` has to connect again."""
        return -1 if self._failure is not None else self.transport.fileno()

    def set_buffer(self, buffer: Area) -> None:
        """Offers a buffer for the attachments of the next reply, if the transport can use one."""
        self.transport.set_buffer(buffer)

    def keep_alive(self) -> None:
        """Renews the lease without waiting."""
        self.transport.keep_alive(RENEW_LEASE, self.session.header)

    def close(self, timeout: float | None = None) -> None:
        """Closes the environment and frees the transport; a session that is already gone counts as closed.

        Args:
            timeout: Seconds to spend at most; by default the timeout of a request.

        Raises:
            Exception: Any exception of the environment; the transport is freed anyway.
        """
        try:
            if self._may_close(timeout):
                # In one call: an interrupt may have left gRPC's threads stuck, which `begin` would need.
                self.serve(Close())
        except RemoteError as error:
            if should_report(error):
                raise
        finally:
            self.kill()

    def begin_close(self, timeout: float | None = None) -> None:
        """Sends a Close; for its arguments see `close`.

        If a timeout is given and another request stays unanswered, nothing is sent: the session ends with its lease.
        """
        if self._may_close(timeout):
            self.begin(Close())

    def _may_close(self, timeout: float | None) -> bool:
        """Limits requests to the timeout, and returns whether a Close may be sent."""
        session = self.session
        if timeout is not None:
            session.timeout = min(session.timeout, timeout)
        free = self._lock.acquire(timeout=session.timeout)
        if free:
            self._lock.release()
        return free and session.closable and self._is_idle(timeout)

    def _is_idle(self, timeout: float | None) -> bool:
        """Returns whether no answer is pending, or it arrives in time. One in doubt is asked for again in that time."""
        session = self.session
        if timeout is None or not session.pending or session.in_doubt or not self._begun:
            return True
        if (descriptor := self.fileno()) < 0:
            return descriptor == ARRIVED
        poll = new_poll()
        poll.register(descriptor, POLLIN)
        return bool(poll.poll(timeout * 1000))

    def kill(self) -> None:
        """Frees the connection without closing the session, which has ended already or ends with its lease."""
        self.transport.close()
