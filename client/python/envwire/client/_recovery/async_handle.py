"""The handle of an asyncio environment: its current session, and recovery when that is lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from envwire.client._drivers import keeper
from envwire.client._drivers.asyncio_driver import AsyncDriver
from envwire.client._drivers.closing import is_news
from envwire.client._drivers.this_process import THIS_PROCESS
from envwire.client._recovery.departure import close_unwanted
from envwire.client._recovery.flows import Ask, CopyTo, Effect, Flow, LetGo, MakeAgain, MakeNew
from envwire.client._recovery.lives import Lives
from envwire.client._recovery.making import Made
from envwire.client._session.flows import Pause, run_async
from envwire.client._session.operations import Operation
from envwire.client.errors import RemoteError
from envwire.v1 import environment_pb2 as pb

_T = TypeVar("_T")


class AsyncSessionHandle(Lives[AsyncDriver]):
    """A handle on one environment; see `envwire.client._recovery.session_handle.SessionHandle`.

    Sessions are made in threads. For its arguments and attributes see `Lives`.
    """

    async def make(self) -> pb.MakeResponse:
        """Makes the environment, as a new one."""
        self.begin_life()
        return await self._adopt_made(partial(self._maker.make, self.strategy))

    async def _adopt_made(self, make: Callable[[], Made]) -> pb.MakeResponse:
        """Makes a session in a thread; one that is made after its caller was cancelled is closed again."""
        making = asyncio.ensure_future(asyncio.to_thread(make))
        try:
            made = await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(close_unwanted)
            raise
        self._adopt(made, self._driver(made))
        return made.answer

    def _driver(self, made: Made) -> AsyncDriver:
        return AsyncDriver(made.driver, self._maker.verdict(self.strategy, made))

    def _adopt(self, made: Made, session: AsyncDriver) -> None:
        self.session, self.target = session, made.target
        # Nothing that the session holds may hold the handle: the session is closed when the handle is collected.
        session.session.on_notices = partial(self.strategy.heard, str(self))
        keeper.look_after(self, made.driver)

    async def _present(self, operation: Operation[Any]) -> AsyncDriver:
        """Returns the session for a request; leaves a server that is about to stop."""
        session = self.live()
        if not session.session.notices:
            return session
        made = self._departures.due(session.session, self.target, operation)
        if made is not None:
            await self._leave(session, made)
        return self.live()

    async def _leave(self, session: AsyncDriver, made: Made) -> None:
        """Goes on in another session, if it comes to where this one is."""
        driver = self._driver(made)
        try:
            await run_async(self.strategy.arrive(), partial(_asked, driver))
        except BaseException as error:
            driver.kill()
            self._departures.failed(made, error)
            if isinstance(error, RemoteError):
                return
            raise
        self.take()
        self._adopt(made, driver)
        session.kill()
        keeper.close_later(session.blocking)

    def copy(self) -> AsyncSessionHandle:
        """Returns a handle on a copy of the environment, which has no session yet."""
        return AsyncSessionHandle(self._maker, self.strategy.copy(), self._label)

    async def _copy_to(self, twin: AsyncSessionHandle) -> None:
        origin, target = self.live().session.identity.reference, self.target

        await twin._adopt_made(partial(self._maker.make_copy, target, origin, twin.strategy))

    async def serve(self, operation: Operation[_T]) -> _T:
        """Serves a request; what becomes of it when the session turns out to be lost is the strategy's to say.

        Raises:
            SessionClosedError: There is no session.
            Exception: Whatever the environment raised.
        """
        try:
            return await (await self._present(operation)).serve(operation)
        except RemoteError as error:
            if not self.is_loss(error):
                raise
            loss = error
        result: _T = await self.run(self.serve_again(operation, loss))
        return result

    async def run(self, flow: Flow[_T]) -> _T:
        """Runs a flow of this environment's."""
        return await run_async(flow, self.do)

    async def do(self, effect: Effect) -> Any:
        """Does what a flow yields."""
        doing: Awaitable[Any]
        match effect:
            case MakeAgain():
                doing = self._adopt_made(partial(self._maker.make, self.strategy, self.target))
            case MakeNew():
                doing = self.make()
            case CopyTo():
                doing = self._copy_to(effect.twin)
            case Ask():
                serve = self.serve if effect.recover else self.live().serve
                doing = serve(effect.operation)
            case LetGo():
                doing = self._let_go(close=effect.close)
            case Pause():
                doing = asyncio.sleep(effect.seconds)
        return await doing

    async def _let_go(self, *, close: bool) -> None:
        session = self.release()
        if session is None or session.pid != THIS_PROCESS.pid:
            return
        if close:
            with contextlib.suppress(RemoteError):
                await session.close()
        session.kill()

    def release(self) -> AsyncDriver | None:
        """Detaches and returns the session, for the caller to close."""
        session = self.take()
        if session is not None:
            keeper.release(session.blocking)
        return session

    async def close(self) -> None:
        """Closes the session; one that is already gone counts as closed.

        Raises:
            Exception: Whatever the environment raised.
        """
        session = self.release()
        if session is None or session.pid != THIS_PROCESS.pid:
            return
        try:
            await session.close()
        except RemoteError as error:
            if is_news(error):
                raise


async def _asked(driver: AsyncDriver, effect: Effect) -> Any:
    """Serves what a flow asks of a session."""
    assert isinstance(effect, Ask)  # noqa: S101 - arriving is nothing else
    return await driver.serve(effect.operation)
