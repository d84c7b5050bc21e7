"""The handle of an environment: sends requests to its current session and recovers a lost one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from envwire.client._drivers import lease_renewer
from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.coroutines import run
from envwire.client._drivers.this_process import THIS_PROCESS
from envwire.client._recovery.base_handle import BaseSessionHandle
from envwire.client._recovery.making import NewSession
from envwire.client._session.operations import Operation
from envwire.client.errors import RemoteError
from envwire.v1 import environment_pb2 as pb

_T = TypeVar("_T")


class SessionHandle(BaseSessionHandle[BlockingDriver]):
    """A handle on one environment; for its arguments and attributes see `BaseSessionHandle`."""

    async def ask(self, operation: Operation[_T], *, recover: bool = False) -> _T:
        """Sends a request and returns its result (see `BaseSessionHandle.ask`)."""
        return self.serve(operation) if recover else self.live().serve(operation)

    async def pause(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)

    async def discard(self, *, close: bool = False) -> None:
        """Frees the connection of the session (see `BaseSessionHandle.discard`)."""
        self.kill(close=close)

    async def _make_session(self, make: Callable[[], NewSession]) -> pb.MakeResponse:
        made = make()
        self._adopt(made, made.driver)
        return made.answer

    def _current(self, operation: Operation[Any]) -> BlockingDriver:
        """Returns the driver for a request, after leaving a server that is about to stop."""
        driver = self.live()
        if not driver.session.notices:
            return driver
        with self._departures.lock:
            driver = self.live()
            made = self._departures.due(driver.session, self.target, operation)
            if made is not None:
                self._leave(driver, made)
        return self.live()

    def _leave(self, driver: BlockingDriver, made: NewSession) -> None:
        """Continues in another session, if it can be brought to the current state."""
        try:
            run(self.strategy.arrive(partial(_ask, made.driver)))
        except RemoteError as error:
            self._departures.failed(made, error)
            return
        self.release()
        self._adopt(made, made.driver)
        lease_renewer.close_later(driver)

    def make(self) -> pb.MakeResponse:
        """Makes the environment, as a new one; returns the answer to its Make."""
        return run(self.make_new())

    def serve(self, operation: Operation[_T]) -> _T:
        """Serves a request; if the session turns out to be lost, the strategy decides what happens.

        Raises:
            SessionClosedError: There is no session.
            Exception: Any exception of the environment.
        """
        driver = self.driver
        if driver is None or driver.pid != THIS_PROCESS.pid or driver.session.notices:
            driver = self._current(operation)
        try:
            return driver.serve(operation)
        except RemoteError as error:
            if not self.is_loss(error):
                raise
            loss = error
        return run(self.serve_again(operation, loss))

    def begin(self, operation: Operation[Any]) -> None:
        """Sends a request; `finish` waits for its answer.

        Raises:
            SessionClosedError: There is no session.
        """
        driver = self.driver
        if driver is None or driver.pid != THIS_PROCESS.pid or driver.session.notices:
            driver = self._current(operation)
        driver.begin(operation)

    def finish(self) -> Any:
        """Waits for the answer to the request that `begin` sent.

        Raises:
            RemoteError: The session is lost, or cannot serve it.
            Exception: Any exception of the environment.
        """
        return self.live().finish()

    def kill(self, *, close: bool = False) -> None:
        """Frees the connection of the session; if `close`, closes the session first, whatever that raises."""
        if close:
            with contextlib.suppress(Exception):
                self.close()
        elif (driver := self._release_own()) is not None:
            driver.kill()

    def close(self) -> None:
        """Closes the session; one that is already gone counts as closed.

        Raises:
            Exception: Any exception of the environment.
        """
        if (driver := self._release_own()) is not None:
            driver.close()


async def _ask(driver: BlockingDriver, operation: Operation[_T]) -> _T:
    return driver.serve(operation)
