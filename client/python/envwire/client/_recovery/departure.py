"""Leaves a server that is about to stop: a session is made elsewhere while the present one still answers."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from envwire.client._drivers import keeper
from envwire.client._recovery.making import Made, SessionMaker
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.client_session import ClientSession
from envwire.client._session.operations import Operation
from envwire.client.errors import ReplayError

if TYPE_CHECKING:
    import asyncio

_log = logging.getLogger("envwire.client")

#: Seconds to wait before a session is looked for once more where none could be had.
_PAUSE_SECONDS = 1.0


class Departure:
    """A session that is made in a thread. It is closed when this object is collected and nobody took it.

    Args:
        make: Makes it.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._made: Future[Made] = Future()
        self._abandoned = weakref.finalize(self, _abandon, self._made)
        self._abandoned.atexit = False  # the keeper closes what is open then
        args = (make, self._made)
        threading.Thread(target=_run, args=args, name="envwire-departure", daemon=True).start()

    @property
    def ready(self) -> bool:
        """Whether it is made, or could not be."""
        return self._made.done()

    def take(self) -> Made:
        """Returns the session.

        Raises:
            Exception: Why there is none.
        """
        self._abandoned.detach()
        return self._made.result()


def _run(make: Callable[[], Made], outcome: Future[Made]) -> None:
    try:
        made = make()
    except BaseException as error:
        outcome.set_exception(error)
    else:
        keeper.keep(made.driver)
        outcome.set_result(made)


def _abandon(outcome: Future[Made]) -> None:
    outcome.add_done_callback(close_unwanted)


def close_unwanted(outcome: Future[Made] | asyncio.Future[Made]) -> None:
    """Closes a session that nobody waits for any more, in the background."""
    if not outcome.cancelled() and outcome.exception() is None:
        keeper.close_later(outcome.result().driver)


class Departures:
    """The departures of one environment.

    Args:
        maker: Makes its sessions.
        strategy: Says whether it leaves, and when.
        clock: Monotonic time, in seconds.
    """

    def __init__(
        self,
        maker: SessionMaker,
        strategy: RecoveryStrategy,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._maker = maker
        self._strategy = strategy
        self._clock = clock
        self._departure: Departure | None = None
        self._not_before = 0.0

    def due(
        self, session: ClientSession, target: str | None, operation: Operation[object]
    ) -> Made | None:
        """Returns a session that shall take the place of the present one before a request; None to stay for now.

        Args:
            session: The present one, whose server is about to stop.
            target: Where that is.
            operation: What is asked.
        """
        if session.pending or not session.has_others or not self._strategy.leaves:
            return None
        if self._departure is None:
            if self._clock() >= self._not_before:
                strategy, last = self._strategy, target
                self._departure = Departure(lambda: self._maker.make(strategy, last))
            return None
        if not self._departure.ready or not self._strategy.leaves_before(operation):
            return None
        departure, self._departure = self._departure, None
        try:
            return departure.take()
        except Exception as error:
            _log.info("no session elsewhere so far: %s", error)
            self._not_before = self._clock() + _PAUSE_SECONDS
            return None

    def failed(self, made: Made, error: BaseException) -> None:
        """Takes a session that could not be brought to where the present one is; it is closed."""
        _log.warning("cannot leave a server that is about to stop: %s", error)
        keeper.close_later(made.driver)
        again = self._clock() + _PAUSE_SECONDS
        self._not_before = float("inf") if isinstance(error, ReplayError) else again

    def forget(self) -> None:
        """Forgets a session that is made meanwhile: the present one is closed or lost."""
        self._departure, self._not_before = None, 0.0
