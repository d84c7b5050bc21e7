"""The handle of an environment: sends requests to its current session and recovers a lost one."""

from __future__ import annotations

import contextlib
import threading
import time
from functools import partial
from typing import Any, TypeVar

from envwire.client._drivers import keeper
from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.this_process import THIS_PROCESS
from envwire.client._recovery.flows import Ask, CopyTo, Effect, Flow, LetGo, MakeAgain, MakeNew
from envwire.client._recovery.lives import Lives
from envwire.client._recovery.making import Made, SessionMaker
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.flows import Pause, run
from envwire.client._session.operations import Operation
from envwire.client.errors import RemoteError
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area

_T = TypeVar("_T")


class SessionHandle(Lives[BlockingDriver]):
    """A handle on one environment.

    For its arguments and attributes see `Lives`.
    """

    def __init__(self, maker: SessionMaker, strategy: RecoveryStrategy, label: object) -> None:
        super().__init__(maker, strategy, label)
        self._leaving = threading.Lock()

    def make(self) -> pb.MakeResponse:
        """Makes the environment, as a new one."""
        self.begin_life()
        return self._adopt(self._maker.make(self.strategy))

    def make_again(self) -> None:
        """Makes the environment again, in a session that takes the place of the lost one."""
        self._adopt(self._maker.make(self.strategy, last=self.target))

    def _adopt(self, made: Made) -> pb.MakeResponse:
        self.session, self.target = made.driver, made.target
        # Nothing that the session holds may hold the handle: the session is closed when the handle is collected.
        made.driver.session.on_notices = partial(self.strategy.heard, str(self))
        keeper.look_after(self, made.driver)
        return made.answer

    def copy(self) -> SessionHandle:
        """Returns a handle on a copy of the environment, which has no session yet."""
        return SessionHandle(self._maker, self.strategy.copy(), self._label)

    def _copy_to(self, twin: SessionHandle) -> None:
        origin = self.live().session.identity.reference
        twin._adopt(self._maker.make_copy(self.target, origin, twin.strategy))

    def _present(self, operation: Operation[Any]) -> BlockingDriver:
        """Returns the session for a request; leaves a server that is about to stop."""
        session = self.live()
        if not session.session.notices:
            return session
        with self._leaving:
            session = self.live()
            made = self._departures.due(session.session, self.target, operation)
            if made is not None:
                self._leave(session, made)
        return self.live()

    def _leave(self, session: BlockingDriver, made: Made) -> None:
        """Goes on in another session, if it comes to where this one is."""
        try:
            run(self.strategy.arrive(), partial(_asked, made.driver))
        except RemoteError as error:
            self._departures.failed(made, error)
            return
        self.take()
        self._adopt(made)
        keeper.close_later(session)

    def serve(self, operation: Operation[_T]) -> _T:
        """Serves a request; what becomes of it when the session turns out to be lost is the strategy's to say.

        Raises:
            SessionClosedError: There is no session.
            Exception: Whatever the environment raised.
        """
        session = self.session
        if session is None or session.pid != THIS_PROCESS.pid or session.session.notices:
            session = self._present(operation)
        try:
            return session.serve(operation)
        except RemoteError as error:
            if not self.is_loss(error):
                raise
            loss = error
        return self.recover(operation, loss)

    def recover(self, operation: Operation[_T], loss: RemoteError) -> _T:
        """Recovers from a loss and serves the request that found it.

        Raises:
            RemoteError: It cannot be served.
        """
        result: _T = self.run(self.serve_again(operation, loss))
        return result

    def begin(self, operation: Operation[Any]) -> None:
        """Sends a request; `finish` waits for its answer.

        Raises:
            SessionClosedError: There is no session.
        """
        self._present(operation).begin(operation)

    def finish(self) -> Any:
        """Waits for the answer to what was begun.

        Raises:
            RemoteError: The session is lost, or cannot serve it.
            Exception: Whatever the environment raised.
        """
        return self.live().finish()

    def run(self, flow: Flow[_T]) -> _T:
        """Runs a flow of this environment's."""
        return run(flow, self.do)

    def do(self, effect: Effect) -> Any:
        """Does what a flow yields."""
        match effect:
            case MakeAgain():
                self.make_again()
            case MakeNew():
                return self.make()
            case CopyTo():
                self._copy_to(effect.twin)
            case Ask():
                return (self.serve if effect.recover else self.live().serve)(effect.operation)
            case LetGo():
                self.kill(close=effect.close)
            case Pause():
                time.sleep(effect.seconds)
        return None

    def offer(self, buffer: Area) -> None:
        """Says where observations of the next answer may go (see `BlockingDriver.offer`)."""
        if self.session is not None:
            self.session.offer(buffer)

    def kill(self, *, close: bool = False) -> None:
        """Lets go of the session; closes one that may be there still if it is asked for."""
        session = self.release()
        if session is None or session.pid != THIS_PROCESS.pid:
            return
        if close:
            with contextlib.suppress(RemoteError):
                session.close()
        session.kill()

    def release(self) -> BlockingDriver | None:
        """Detaches and returns the session, for the caller to close."""
        session = self.take()
        if session is not None:
            keeper.release(session)
        return session


def _asked(driver: BlockingDriver, effect: Effect) -> Any:
    """Serves what a flow asks of a session."""
    assert isinstance(effect, Ask)  # noqa: S101 - arriving is nothing else
    return driver.serve(effect.operation)
