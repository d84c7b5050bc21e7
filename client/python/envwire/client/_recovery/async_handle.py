"""The handle of an asyncio environment: its current session, and recovery when that is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from envwire.client._drivers import keeper
from envwire.client._drivers.asyncio_driver import AsyncDriver
from envwire.client._drivers.closing import is_news
from envwire.client._recovery.flows import Ask, CopyTo, Effect, Flow, LetGo, MakeAgain, MakeNew
from envwire.client._recovery.lives import Lives
from envwire.client._recovery.making import Made, SessionMaker
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.flows import Pause, run_async
from envwire.client._session.operations import Operation
from envwire.client.errors import RemoteError
from envwire.v1 import environment_pb2 as pb

_T = TypeVar("_T")


class AsyncSessionHandle(Lives[AsyncDriver]):
    """A handle on one environment; see `envwire.client._recovery.session_handle.SessionHandle`.

    Args:
        maker: Makes its sessions, in threads.
        strategy: What becomes of it when its session is lost.
        label: Names it in messages.

    Attributes:
        target: The server that its session is on, or was.
    """

    def __init__(self, maker: SessionMaker, strategy: RecoveryStrategy, label: object) -> None:
        super().__init__(strategy, label)
        self._maker = maker
        self.target: str | None = None

    async def make(self) -> pb.MakeResponse:
        """Makes the environment, as a new one."""
        self.begin_life()
        return await self._adopt(partial(self._maker.make, self.strategy))

    async def _adopt(self, make: Callable[[], Made]) -> pb.MakeResponse:
        """Makes a session in a thread; one that is made after its caller was cancelled is closed again."""
        making = asyncio.ensure_future(asyncio.to_thread(make))
        try:
            target, session, made = await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(_close_unwanted)
            raise
        self.session = AsyncDriver(session, moves=self._maker.moves(self.strategy))
        self.target = target
        # Nothing that the session holds may hold the handle: the session is closed when the handle is collected.
        session.session.on_notices = partial(self.strategy.heard, str(self))
        keeper.look_after(self, session)
        return made

    def copy(self) -> AsyncSessionHandle:
        """Returns a handle on a copy of the environment, which has no session yet."""
        return AsyncSessionHandle(self._maker, self.strategy.copy(), self._label)

    async def _copy_to(self, twin: AsyncSessionHandle) -> None:
        origin, target = self.live().session.identity.reference, self.target

        def make() -> Made:
            return (target, *self._maker.make_copy(target, origin, twin.strategy))

        await twin._adopt(make)

    async def serve(self, operation: Operation[_T]) -> _T:
        """Serves a request; what becomes of it when the session turns out to be lost is the strategy's to say.

        Raises:
            SessionClosedError: There is no session.
            Exception: Whatever the environment raised.
        """
        try:
            return await self.live().serve(operation)
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
                doing = self._adopt(partial(self._maker.make, self.strategy, self.target))
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
        if session is None or session.pid != os.getpid():
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
        if session is None or session.pid != os.getpid():
            return
        try:
            await session.close()
        except RemoteError as error:
            if is_news(error):
                raise


def _close_unwanted(making: asyncio.Future[Any]) -> None:
    """Closes a session that nobody waits for any more, in a thread."""
    if not making.cancelled() and making.exception() is None:
        keeper.close_later(making.result()[1])
