"""The handle of one environment: sends requests to its current session, and recovers when that session is lost.

The coroutines of the base class are shared with asyncio clients, whose handle adds how sessions are made and requests
served there.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from envwire.client._drivers import lease_renewer
from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.coroutines import run
from envwire.client._errors import not_live
from envwire.client._recovery.drain_migration import DrainMigration
from envwire.client._recovery.session_maker import NewSession, SessionMaker
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.operations import Operation
from envwire.client._session.states import Notice
from envwire.client._transports.portability import THIS_PROCESS
from envwire.client.errors import RemoteError
from envwire.v1 import environment_pb2 as pb

if TYPE_CHECKING:
    from typing_extensions import Self

    from envwire.client._drivers.asyncio_driver import AsyncDriver
    from envwire.client._drivers.blocking import BlockingDriver


class ConnectionStats(NamedTuple):
    """Counters of one environment, since it was first made.

    Attributes:
        resumed: How often a session continued after its connection broke.
        lost: How many sessions were lost.
        recovered: How many of the lost sessions recovery replaced, so that the request was served.
    """

    resumed: int = 0
    lost: int = 0
    recovered: int = 0

    def plus(self, resumed: int = 0, lost: int = 0, recovered: int = 0) -> ConnectionStats:
        """Returns the sums of these counters and others."""
        return ConnectionStats(self.resumed + resumed, self.lost + lost, self.recovered + recovered)


_log = logging.getLogger("envwire.client")

#: The driver of a session, blocking or for asyncio.
D = TypeVar("D", bound="BlockingDriver | AsyncDriver")
T = TypeVar("T")


class BaseSessionHandle(Generic[D]):
    """A handle on one environment. Recovery replaces its session; the handle stays.

    Args:
        maker: Makes its sessions.
        strategy: Decides what happens when its session is lost.
        label: Names the environment in messages.

    Attributes:
        strategy: Decides what happens when its session is lost.
        driver: The driver of the current session; None if it is closed or lost.
        target: The server of the current session, or of the last one.
        generation: Identifies the environment; changes whenever it is made as a new one.
    """

    def __init__(self, maker: SessionMaker, strategy: RecoveryStrategy, label: object) -> None:
        self.strategy = strategy
        self.driver: D | None = None
        self.target: str | None = None
        self.generation = object()
        self._maker = maker
        self._departures = DrainMigration(maker, strategy)
        self._label = label
        self._forget: Callable[[], object] = lambda: None
        self._stats = ConnectionStats()

    def __str__(self) -> str:
        return str(self._label)

    @property
    def stats(self) -> ConnectionStats:
        """Counters of the environment's connections and sessions."""
        resumed = 0 if self.driver is None else self.driver.session.retries.resumed
        return self._stats.plus(resumed=resumed)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the session's server."""
        return () if self.driver is None else self.driver.session.notices

    @property
    def vacant(self) -> bool:
        """Whether this process has no session: it is closed or lost, or belongs to a parent process."""
        return self.driver is None or self.driver.pid != THIS_PROCESS.pid

    def live(self) -> D:
        """Returns the driver of this process's session.

        Raises:
            SessionClosedError: There is no session; `reset()` makes one.
        """
        driver = self.driver
        if driver is None:
            raise not_live(self)
        if driver.pid != THIS_PROCESS.pid:
            raise not_live(self, driver.pid)
        return driver

    def copy(self) -> Self:
        """Returns a handle on a copy of the environment, which has no session yet."""
        return type(self)(self._maker, self.strategy.copy(), self._label)

    def _adopt(self, made: NewSession, driver: D) -> None:
        """Makes a session the current one."""
        self.driver, self.target = driver, made.target
        # The session must not refer to the handle: it is closed when the handle is garbage-collected.
        driver.session.on_notices = partial(_log_notices, str(self))
        self._forget = lease_renewer.look_after(self, made.driver)

    def release(self) -> D | None:
        """Detaches and returns the driver; the caller closes its session."""
        driver, self.driver = self.driver, None
        self._forget()
        self._departures.cancel()
        if driver is not None:
            lease_renewer.release(driver.blocking)
            self._stats = self._stats.plus(resumed=driver.session.retries.resumed)
        return driver

    def _release_own(self) -> D | None:
        """Detaches the driver; returns it unless its session belongs to a parent process."""
        driver = self.release()
        return None if driver is None or driver.pid != THIS_PROCESS.pid else driver

    def is_loss(self, error: RemoteError) -> bool:
        """Returns whether an error of a request means that the session is lost."""
        return self.driver is not None and self.strategy.is_loss(error)

    async def ask(self, operation: Operation[T], *, recover: bool = False) -> T:
        """Sends a request to the session and returns its result.

        Args:
            operation: The request.
            recover: Whether to recover a session that is lost meanwhile.
        """
        raise NotImplementedError

    async def pause(self, seconds: float) -> None:
        """Waits."""
        raise NotImplementedError

    async def discard(self, *, close: bool = False) -> None:
        """Frees the connection of the session.

        Args:
            close: Whether to close the session first, because it may still exist; errors of that are ignored.
        """
        raise NotImplementedError

    async def _make_session(self, make: Callable[[], NewSession]) -> pb.MakeResponse:
        """Makes a session, which becomes the current one."""
        raise NotImplementedError

    async def make_new(self) -> pb.MakeResponse:
        """Makes the environment as a new one, whose recording starts over; returns the answer to its Make."""
        self.strategy.begin()
        self.generation = object()
        return await self._make_session(partial(self._maker.make, self.strategy))

    async def make_again(self) -> None:
        """Makes the environment again, in a session that replaces the lost one."""
        await self._make_session(partial(self._maker.make, self.strategy, self.target))

    async def make_copy(self, clone: Self) -> None:
        """Lets the server make a copy of the session, for another handle of this class."""
        origin = self.live().session.identity
        make = partial(self._maker.make_copy, self.target, origin, clone.strategy)
        await clone._make_session(make)

    async def serve_again(self, operation: Operation[T], error: RemoteError) -> T:
        """Recovers from a lost session as the strategy decides, and serves the request again.

        Args:
            operation: The request.
            error: The error that revealed the loss.

        Raises:
            RemoteError: The strategy does not recover, or cannot.
        """
        attempt = 0
        while True:
            attempt += 1
            await self.lose()
            await self.strategy.recover(self, operation, error, attempt)
            self._stats = self._stats.plus(recovered=1)
            try:
                return await self.ask(operation)
            except RemoteError as again:
                if not self.is_loss(again):
                    raise
                error = again

    async def lose(self) -> None:
        """Discards a lost session without recovering it."""
        await self.discard()
        self._stats = self._stats.plus(lost=1)


def _log_notices(label: str, notices: tuple[Notice, ...]) -> None:
    """Logs a server's notices, such as that it is about to stop."""
    for notice in notices:
        _log.warning("%s: its server is %s, %.1f s left", label, notice.kind, notice.time_left)


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
