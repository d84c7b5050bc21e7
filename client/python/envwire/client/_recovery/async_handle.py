"""The handle of an asyncio environment: its current session, and recovery when that is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Any, TypeVar

from envwire.client._drivers import keeper
from envwire.client._drivers.asyncio_driver import AsyncDriver
from envwire.client._drivers.closing import is_news
from envwire.client._recovery.flows import Ask, Effect, Flow, LetGo, MakeAgain
from envwire.client._recovery.lives import Lives
from envwire.client._recovery.making import SessionMaker
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.flows import run_async
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
        return await self._make(None)

    async def _make(self, last: str | None) -> pb.MakeResponse:
        """Makes a session in a thread; one that is made after its caller was cancelled is closed again."""
        making = asyncio.ensure_future(asyncio.to_thread(self._maker.make, self.strategy, last))
        try:
            target, session, made = await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(_close_unwanted)
            raise
        self.session = AsyncDriver(session, moves=self._maker.moves(self.strategy))
        self.target = target
        keeper.look_after(self, session)
        return made

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
        return await run_async(flow, self._perform)

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, MakeAgain):
            return await self._make(self.target)
        if isinstance(effect, Ask):
            if effect.recover:
                return await self.serve(effect.operation)
            return await self.live().serve(effect.operation)
        if isinstance(effect, LetGo):
            return await self._let_go(close=effect.close)
        return await asyncio.sleep(effect.seconds)

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
