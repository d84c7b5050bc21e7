"""The handle of an asyncio environment: awaits answers of its current session and recovers a lost one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from envwire.client._drivers.asyncio_driver import AsyncDriver
from envwire.client._recovery.drain_migration import close_unwanted
from envwire.client._recovery.session_handle import BaseSessionHandle
from envwire.client._recovery.session_maker import NewSession
from envwire.client._session.operations import Operation
from envwire.client.errors import RemoteError
from envwire.v1 import environment_pb2 as pb

_T = TypeVar("_T")


class AsyncSessionHandle(BaseSessionHandle[AsyncDriver]):
    """A handle on one environment; for its arguments and attributes see `BaseSessionHandle`.

    Sessions are made in threads.
    """

    async def ask(self, operation: Operation[_T], *, recover: bool = False) -> _T:
        """Sends a request and returns its result (see `BaseSessionHandle.ask`)."""
        return await (self.serve(operation) if recover else self.live().serve(operation))

    async def pause(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)

    async def discard(self, *, close: bool = False) -> None:
        """Frees the connection of the session (see `BaseSessionHandle.discard`)."""
        if close:
            with contextlib.suppress(Exception):
                await self.close()
        elif (driver := self._release_own()) is not None:
            driver.kill()

    async def _make_session(self, make: Callable[[], NewSession]) -> pb.MakeResponse:
        """Makes a session in a thread; if the caller is cancelled meanwhile, the session is closed."""
        making = asyncio.ensure_future(asyncio.to_thread(make))
        try:
            made = await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(close_unwanted)
            raise
        self._adopt(made, self._driver(made))
        return made.answer

    def _driver(self, made: NewSession) -> AsyncDriver:
        return AsyncDriver(made.driver, self._maker.detector(self.strategy, made))

    async def _serve_after_notices(self, driver: AsyncDriver, operation: Operation[_T]) -> _T:
        """Leaves a server that is about to stop, if it is time to, and serves a request."""
        made = self._departures.due(driver.session, self.target, operation)
        if made is not None:
            await self._leave(driver, made)
        return await self.live().serve(operation)

    async def _leave(self, driver: AsyncDriver, made: NewSession) -> None:
        """Continues in another session, if it can be brought to the current state."""
        successor = self._driver(made)
        try:
            await self.strategy.arrive(successor.serve)
        except BaseException as error:
            successor.kill()
            self._departures.failed(made, error)
            if isinstance(error, RemoteError):
                return
            raise
        self.release()
        self._adopt(made, successor)
        driver.close_later()

    async def serve(self, operation: Operation[_T]) -> _T:
        """Serves a request; if the session turns out to be lost, the strategy decides what happens.

        Raises:
            SessionClosedError: There is no session.
            Exception: Any exception of the environment.
        """
        try:
            return await self.serve_once(operation)
        except RemoteError as error:
            if not self.is_loss(error):
                raise
            loss = error
        return await self.serve_again(operation, loss)

    def serve_once(self, operation: Operation[_T]) -> Awaitable[_T]:
        """Serves a request, after leaving a server that is about to stop; a loss is raised.

        Raises:
            SessionClosedError: There is no session.
            Exception: Any exception of the environment.
        """
        driver = self.live()
        if driver.session.notices:
            return self._serve_after_notices(driver, operation)
        return driver.serve(operation)

    async def close(self) -> None:
        """Closes the session; one that is already gone counts as closed.

        Raises:
            Exception: Any exception of the environment.
        """
        driver = self._release_own()
        if driver is not None:
            await driver.close()
