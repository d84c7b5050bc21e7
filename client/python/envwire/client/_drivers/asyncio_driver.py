"""The asyncio driver: sends a session's requests, and awaits replies for as long as the server answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from envwire.client._drivers import lease_renewer
from envwire.client._drivers.ahead import AHEAD, Sent, StepsAhead
from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.failure_detection import FailureDetector, FailureMonitor
from envwire.client._errors import should_report
from envwire.client._session.operations import Close, Operation
from envwire.client._session.repeating import discarded, settled, tried_again
from envwire.client._session.states import Answered, Event, Outcome, ProtocolError, State
from envwire.client._transports.async_transports import AsyncTransport, async_transport
from envwire.client._transports.loop_waits import LoopDeadline
from envwire.client._transports.transport import Transport
from envwire.client.errors import InvalidRequestError, RemoteError, ServerUnavailableError
from envwire.wire.frames import Reply


class WaitsOfLoop:
    """Waits of an event loop (see `Waits`)."""

    async def call(self, function: Callable[[], bool]) -> bool:
        # A thread of its own: in the loop's (six on two cores) the probes of 50 sessions on a stopped server took 17 s,
        # and the program's own calls waited behind them.
        thread = ThreadPoolExecutor(1, "envwire-probe")
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, function)
        finally:
            thread.shutdown(wait=False)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class WatchedAsyncTransport:
    """A transport whose waits end when the server has stopped answering.

    Args:
        transport: The transport that exchanges messages.
        server: The transport that probes the server.
        detector: Decides whether a silent server is lost.
    """

    def __init__(
        self, transport: AsyncTransport, server: Transport, detector: FailureDetector
    ) -> None:
        self._transport = transport
        self._late = LoopDeadline(self._probe_later)
        self._monitor = FailureMonitor(
            self._late, server, detector, transport.interrupt, WaitsOfLoop()
        )
        self._probing: asyncio.Task[None] | None = None

    def exchange(self, request: bytes, timeout: float, header: bytes) -> Awaitable[Reply]:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        return self._watched(self._transport.exchange, request, timeout, header)

    async def _watched(self, ask: Callable[..., Awaitable[Reply]], *args: Any) -> Reply:
        self._monitor.begin()
        try:
            reply = await ask(*args)
        except ServerUnavailableError as failure:
            failure.silent = await self._monitor.failed(failure, time.monotonic())
            raise
        finally:
            self._monitor.end()
        self._monitor.cut_at = 0.0
        return reply

    @property
    def pipelines(self) -> bool:
        """Whether several requests can be in flight (see `AsyncTransport.pipelines`)."""
        return self._transport.pipelines

    def send_ahead(self, request: bytes, timeout: float) -> None:
        """Sends a request (see `AsyncTransport.send_ahead`); its wait begins with `receive_ahead`."""
        self._transport.send_ahead(request, timeout)

    def receive_ahead(self, timeout: float) -> Awaitable[Reply]:
        """Waits for the reply to the oldest request (see `AsyncTransport.receive_ahead`)."""
        return self._watched(self._transport.receive_ahead, timeout)

    def _probe_later(self) -> None:
        self._probing = asyncio.ensure_future(self._monitor.judge())

    def interrupt(self) -> None:
        """Breaks the connection (see `AsyncTransport.interrupt`)."""
        self._transport.interrupt()

    def leave_loop(self) -> None:
        """Detaches from the event loop (see `AsyncTransport.leave_loop`)."""
        self._end()
        self._transport.leave_loop()

    def close(self) -> None:
        """Closes the transport (see `AsyncTransport.close`)."""
        self._end()
        self._transport.close()

    def _end(self) -> None:
        self._monitor.end()
        self._late.close()


#: Bound once: Python 3.11 takes 900 instructions to find a member of an Enum.
_READY = State.READY
_T = TypeVar("_T")


class AsyncDriver:
    """A session and its connection. It serves one request at a time: callers wait for one before they send the next.

    Args:
        made: The blocking driver that made the session. It is used again only to close a session that was left open.
        detector: Decides whether a silent server is lost; None to wait for the full timeout.

    Attributes:
        session: The session.
        pid: Id of the process that made it.
        blocking: The blocking driver that made it.
    """

    def __init__(self, made: BlockingDriver, detector: FailureDetector | None) -> None:
        self.session = made.session
        self.pid = made.pid
        self.blocking = made
        self._outcome = Outcome(made.session.label)
        self._steps_ahead = StepsAhead(made.session, self)
        self._loop = asyncio.get_running_loop()
        self._transport: AsyncTransport = async_transport(made.transport)
        if detector is not None:
            self._transport = WatchedAsyncTransport(self._transport, made.transport, detector)

    async def serve(self, operation: Operation[_T]) -> _T:
        """Sends a request and returns its result.

        If the call is cancelled, the server may still serve the request; the next call completes it first.

        Raises:
            RemoteError: The session cannot serve the request, or has ended.
            Exception: Any exception of the environment.
        """
        session = self.session
        if self._loop is not asyncio.get_running_loop():
            self._change_loop()
        if session.state is not _READY and session.pending:
            await self._drop_pending()
        request = session.next_request(operation)
        try:
            reply = await self._transport.exchange(request, session.timeout, session.header)
        except GeneratorExit:
            # The coroutine is closed, perhaps while another call uses the session.
            raise
        except BaseException as failure:
            event = await tried_again(session, self, failure)
        else:
            event = session.receive(reply.message, reply.area)
            if type(event) is Answered and not event.warnings:
                return event.result  # type: ignore[no-any-return]
        if type(event) is not Answered:
            event = await settled(session, self, event)
        return self._outcome.unwrap(event)  # type: ignore[no-any-return]

    async def _drop_pending(self) -> None:
        """Completes a request whose caller was cancelled or gave up, or steps sent ahead."""
        if self._steps_ahead:
            await self._steps_ahead.complete()
            return
        if not self.session.in_doubt:  # the last call's coroutine, or its loop, was closed
            self.session.give_up()
        await discarded(self.session, self)

    @property
    def sends_ahead(self) -> bool:
        """Whether a step can be sent now, before earlier ones are answered."""
        session = self.session
        if AHEAD not in session.capabilities or self._loop is not asyncio.get_running_loop():
            return False
        return self._transport.pipelines and (session.state is _READY or bool(self._steps_ahead))

    @property
    def in_flight(self) -> int:
        """How many steps that were sent ahead are unanswered."""
        return len(self._steps_ahead)

    def step_ahead(self, action: Any) -> Sent | None:
        """Sends a step without waiting for earlier answers (see `StepsAhead.send`)."""
        return self._steps_ahead.send(action)

    async def receive_ahead(self) -> None:
        """Waits for the answer to the oldest step in flight (see `StepsAhead.receive`)."""
        if self._loop is not asyncio.get_running_loop():
            self._change_loop()
        await self._steps_ahead.receive()

    def outcome_of(self, event: Event) -> Any:
        """Returns the result of a step that was sent ahead, or raises its error."""
        return self._outcome.unwrap(event)

    def send_ahead(self, request: bytes, timeout: float) -> None:
        """Sends a request (see `AheadConnection.send_ahead`)."""
        self._transport.send_ahead(request, timeout)

    async def await_ahead(self, timeout: float) -> Reply:
        """Waits for a reply (see `AheadConnection.await_ahead`)."""
        return await self._transport.receive_ahead(timeout)

    async def ask(self, request: bytes, timeout: float) -> Reply:
        """Sends a request and returns its reply (see `Connection.ask`)."""
        return await self._transport.exchange(request, timeout, self.session.header)

    async def reply(self) -> Reply:
        """Never happens: a request is not sent before its reply is awaited."""
        raise ProtocolError("an asyncio driver never sends a request before it awaits the reply")

    async def pause(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)

    def _change_loop(self) -> None:
        """Moves to the running event loop.

        Raises:
            InvalidRequestError: The loop used before is not closed.
        """
        if not self._loop.is_closed():
            raise InvalidRequestError(
                f"{self.session.label} belongs to another event loop; make an environment in each loop"
            )
        self._transport.leave_loop()
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        """Closes the environment and frees the connection; a session that is already gone counts as closed.

        If it is cancelled, the session is closed in the background.

        Raises:
            Exception: Any exception of the environment; the connection is freed anyway.
        """
        end = self.kill
        try:
            if self.session.closable:
                await self.serve(Close())
        except asyncio.CancelledError:
            end = self.close_later
            raise
        except RemoteError as error:
            if should_report(error):
                raise
        finally:
            end()

    def close_later(self) -> None:
        """Closes the environment in the background, over the connection of the blocking driver."""
        self._transport.leave_loop()
        lease_renewer.close_later(self.blocking)

    def kill(self) -> None:
        """Frees the connection without closing the session, which has ended already or ends with its lease."""
        self._transport.close()
