"""The handle of one environment: its current session, and recovery when that session is lost.

The handles of blocking and asyncio clients add how sessions are made and requests are served.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from envwire.client._drivers import keeper
from envwire.client._drivers.this_process import THIS_PROCESS
from envwire.client._errors.losses import not_live
from envwire.client._recovery.departure import Departures
from envwire.client._recovery.flows import Ask, CopyTo, Effect, Flow, Kill, MakeAgain, MakeNew
from envwire.client._recovery.making import Made, SessionMaker
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.flows import Pause
from envwire.client._session.notices import Notice
from envwire.client._session.operations import Operation
from envwire.client._session.stats import ConnectionStats
from envwire.client.errors import RemoteError

if TYPE_CHECKING:
    from typing_extensions import Self

    from envwire.client._drivers.asyncio_driver import AsyncDriver
    from envwire.client._drivers.blocking import BlockingDriver

_log = logging.getLogger("envwire.client")

#: The driver of a session, blocking or for asyncio.
D = TypeVar("D", bound="BlockingDriver | AsyncDriver")


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
        lineage: Identifies the environment; changes whenever it is made as a new one.
    """

    #: The I/O of the handle, whose results are awaited for asyncio.
    serve: Callable[[Operation[Any]], Any]
    kill: Callable[..., Any]
    _make_session: Callable[[Callable[[], Made]], Any]
    _sleep: Callable[[float], Any]

    def __init__(self, maker: SessionMaker, strategy: RecoveryStrategy, label: object) -> None:
        self.strategy = strategy
        self.driver: D | None = None
        self.target: str | None = None
        self.lineage = object()
        self._maker = maker
        self._departures = Departures(maker, strategy)
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

    def make(self) -> Any:
        """Makes the environment, as a new one; returns the answer to its Make."""
        self.strategy.begin()
        self.lineage = object()
        return self._make_session(partial(self._maker.make, self.strategy))

    def copy(self) -> Self:
        """Returns a handle on a copy of the environment, which has no session yet."""
        return type(self)(self._maker, self.strategy.copy(), self._label)

    def _adopt(self, made: Made, driver: D) -> None:
        """Makes a session the current one."""
        self.driver, self.target = driver, made.target
        # The session must not refer to the handle: it is closed when the handle is garbage-collected.
        driver.session.on_notices = partial(_log_notices, str(self))
        self._forget()
        self._forget = keeper.look_after(self, made.driver)

    def release(self) -> D | None:
        """Detaches and returns the driver; the caller closes its session."""
        driver, self.driver = self.driver, None
        self._forget()
        self._departures.cancel()
        if driver is not None:
            keeper.release(driver.blocking)
            self._stats = self._stats.plus(resumed=driver.session.retries.resumed)
        return driver

    def _release_own(self) -> D | None:
        """Detaches the driver; returns it unless its session belongs to a parent process."""
        driver = self.release()
        return None if driver is None or driver.pid != THIS_PROCESS.pid else driver

    def is_loss(self, error: RemoteError) -> bool:
        """Returns whether an error of a request means that the session is lost."""
        return self.driver is not None and self.strategy.is_loss(error)

    def serve_again(self, operation: Operation[Any], error: RemoteError) -> Flow[Any]:
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
            yield from self.lose()
            yield from self.strategy.recover(self._label, operation, error, attempt)
            self._stats = self._stats.plus(recovered=1)
            try:
                return (yield Ask(operation))
            except RemoteError as again:
                if not self.is_loss(again):
                    raise
                error = again

    def perform(self, effect: Effect) -> Any:
        """Performs an effect that a flow yields: returns its result, or for asyncio what to await."""
        match effect:
            case MakeAgain():
                return self._make_session(partial(self._maker.make, self.strategy, self.target))
            case MakeNew():
                return self.make()
            case CopyTo():
                clone, origin = effect.clone, self.live().session.identity
                make = partial(self._maker.make_copy, self.target, origin, clone.strategy)
                return clone._make_session(make)
            case Ask():
                serve = self.serve if effect.recover else self.live().serve
                return serve(effect.operation)
            case Kill():
                return self.kill(close=effect.close)
            case Pause():
                return self._sleep(effect.seconds)

    def lose(self) -> Flow[None]:
        """Discards a lost session without recovering it."""
        yield Kill()
        self._stats = self._stats.plus(lost=1)


def _log_notices(label: str, notices: tuple[Notice, ...]) -> None:
    """Logs a server's notices, such as that it is about to stop."""
    for notice in notices:
        _log.warning("%s: its server is %s, %.1f s left", label, notice.kind, notice.time_left)
