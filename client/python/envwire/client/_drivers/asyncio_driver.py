"""The asyncio driver: sends a session's requests, awaits replies, and passes them to the session."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TypeVar

from envwire.client._drivers import silence
from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.outcome import Outcome
from envwire.client._session.events import Answered, Event, Refused, RetryAfter, SendAgain
from envwire.client._session.operations import Close, Operation
from envwire.client._session.states import State
from envwire.client._transports.async_transports import AsyncTransport, async_transport
from envwire.client._transports.transport import Probeable
from envwire.client.errors import (
    InvalidRequestError,
    RemoteError,
    RequestTimeoutError,
    ServerUnavailableError,
)
from envwire.wire.frames import Reply

_log = logging.getLogger("envwire.client")
#: Bound once: Python 3.11 takes 900 instructions to find a member of an Enum.
_READY = State.READY
_T = TypeVar("_T")


class AsyncDriver:
    """A session and the connection to it.

    Args:
        made: A blocking driver that made the session. It is used no more, but to close a session that nobody closed.
        moves: Whether the session is lost when its server has fallen silent.

    Attributes:
        session: The session.
        pid: The process that it was made in.
        blocking: The driver that made it.
    """

    def __init__(self, made: BlockingDriver, *, moves: bool) -> None:
        self.session = made.session
        self.pid = made.pid
        self.blocking = made
        self._label = made.label
        self._outcome = Outcome(made.label)
        self._transport = _watched(made, async_transport(made.transport), moves)
        self._lock = asyncio.Lock()

    async def serve(self, operation: Operation[_T]) -> _T:
        """Sends a request and returns what its answer says.

        When it is cancelled, the request may have been served; it is finished before the next one.

        Raises:
            RemoteError: The session cannot serve it, or ended.
            Exception: Whatever the environment raised.
        """
        session = self.session
        async with self._lock:
            if session.state is not _READY and session.pending:
                await self._drop_pending()
            request = session.next_request(operation)
            try:
                reply = await self._transport.exchange(request, session.timeout, session.header)
            except BaseException as failure:
                event = await self._try_again(failure)
            else:
                event = session.receive(reply.message, reply.area)
                if type(event) is Answered and not event.warnings:
                    return event.result  # type: ignore[no-any-return]
            if type(event) is not Answered:
                event = await self._settled(event)
        return self._outcome.of(event)  # type: ignore[no-any-return]

    async def _drop_pending(self) -> None:
        """Sends a request once more whose caller was cancelled or gave up; nobody comes for the answer.

        Raises:
            RemoteError: The answer says that the session is no more, or there is none still.
        """
        session = self.session
        try:
            event = await self._repeated()
        except (ServerUnavailableError, RequestTimeoutError):
            raise
        except RemoteError:  # it will not be answered, however often it is sent
            if session.in_doubt:
                session.take_back()
            return
        if isinstance(event, Refused) and not session.closable:
            raise event.error

    async def _repeated(self) -> Event:
        session = self.session
        try:
            reply = await self._transport.exchange(
                session.repeat(), session.timeout, session.header
            )
        except BaseException as failure:
            return await self._settled(await self._try_again(failure))
        return await self._settled(session.receive(*reply))

    async def _settled(self, event: Event) -> Event:
        """Sends the pending request under other numbers for as long as the server asks for them."""
        session = self.session
        while isinstance(event, SendAgain):
            try:
                reply = await self._transport.exchange(
                    event.request, session.time_left(), session.header
                )
            except BaseException as failure:  # noqa: PERF203 - it is sent again on another connection
                event = await self._try_again(failure)
            else:
                event = session.receive(*reply)
        return event

    async def _try_again(self, failure: BaseException) -> Event:
        """Sends the pending request again, on new connections, for as long as that makes sense.

        Raises:
            BaseException: The last failure.
        """
        session = self.session
        while True:
            if isinstance(failure, InvalidRequestError):
                session.take_back()
            elif not isinstance(failure, ServerUnavailableError):
                session.give_up()
            if not isinstance(failure, ServerUnavailableError):
                raise failure
            event = session.connection_lost(failure)
            if not isinstance(event, RetryAfter):
                raise failure
            _log.info("%s: %s; trying to go on with it", self._label, failure)
            try:
                await asyncio.sleep(event.pause)
                request = session.repeat()
                reply = await self._transport.exchange(request, session.time_left(), session.header)
            except BaseException as again:
                failure = again
            else:
                return session.receive(*reply)

    async def close(self) -> None:
        """Closes the environment and frees the connection.

        Raises:
            RemoteError: The environment was not closed, or told an error; the connection is freed all the same.
        """
        try:
            if self.session.closable:
                await self.serve(Close())
        finally:
            self.kill()

    def kill(self) -> None:
        """Frees the connection of a session that is no more, or that its lease shall end."""
        self._transport.close()


class WatchedAsyncTransport:
    """A transport that ends a wait when the server has fallen silent (see `envwire.client._drivers.silence`).

    Args:
        transport: The transport.
        server: What probes the server.
    """

    def __init__(self, transport: AsyncTransport, server: Probeable) -> None:
        self._transport = transport
        self._server = server

    async def exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Sends a request and returns its reply (see `AsyncTransport.exchange`)."""
        task = asyncio.ensure_future(self._transport.exchange(request, timeout, header))
        try:
            while not (await asyncio.wait({task}, timeout=silence.LATE_SECONDS))[0]:
                if await self._is_silent(task):
                    raise _silent()
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    async def _is_silent(self, task: asyncio.Future[Reply]) -> bool:
        for _ in range(silence.PROBES):
            alive = await asyncio.to_thread(self._server.probe, silence.PROBE_SECONDS)
            if alive or task.done():
                return False
        return True

    def close(self) -> None:
        """Frees what the transport holds (see `AsyncTransport.close`)."""
        self._transport.close()


def _watched(made: BlockingDriver, transport: AsyncTransport, moves: bool) -> AsyncTransport:
    server = made.transport
    if moves and isinstance(server, Probeable):
        return WatchedAsyncTransport(transport, server)
    return transport


def _silent() -> ServerUnavailableError:
    failure = ServerUnavailableError("the server has fallen silent: it answers no sign of life")
    failure.silent = True
    return failure
