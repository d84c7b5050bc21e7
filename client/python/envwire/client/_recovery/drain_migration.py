"""Leaves a server that is about to stop: makes a session elsewhere while the current one still answers."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from envwire.client._drivers import lease_renewer
from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._recovery.session_maker import NewSession, SessionMaker
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.client_session import ClientSession
from envwire.client._session.operations import Operation
from envwire.client._transports.portability import after_fork_in_child
from envwire.client.errors import ReplayError

if TYPE_CHECKING:
    import asyncio

_log = logging.getLogger("envwire.client")

#: Seconds to wait after a failed attempt to make a session elsewhere.
_PAUSE_SECONDS = 1.0
#: Sessions that one process makes elsewhere at the same time. With 100 at a time, a vector environment of 250 sessions
#: stalled for 1.1 to 4.5 s, because they took its processor.
_AT_ONCE = 4
_turns = threading.Semaphore(_AT_ONCE)
#: Seconds that the environments of a process may spend on moving at once, and the fraction of the time after that.
_MOVE_SECONDS, _MOVE_SHARE = 0.05, 0.5
#: If the server stops within this many seconds, `MoveBudget` no longer holds a move back.
_HURRY_SECONDS = 1.5


def _after_fork() -> None:
    global _turns  # noqa: PLW0603 - the threads that had turns are not in the child
    _turns = threading.Semaphore(_AT_ONCE)


after_fork_in_child(_after_fork)


class Departure:
    """A session made in a thread, in its turn. It is closed if this object is garbage-collected before `take`.

    Args:
        make: Makes the session.
        keep: Is told of the session's driver, and keeps its lease.
        patience: Longest wait for its turn, in seconds; the next request asks again.
    """

    def __init__(
        self,
        make: Callable[[], NewSession],
        keep: Callable[[BlockingDriver], None] = lease_renewer.keep,
        patience: float = 60.0,
    ) -> None:
        self._made: Future[NewSession] = Future()
        self._finalizer = weakref.finalize(self, self._made.add_done_callback, close_unwanted)
        self._finalizer.atexit = False  # at exit, the keeper closes all open sessions
        args = (make, keep, patience, self._made)
        threading.Thread(target=_run, args=args, name="envwire-departure", daemon=True).start()

    @property
    def ready(self) -> bool:
        """Whether the attempt to make the session has ended."""
        return self._made.done()

    def take(self) -> NewSession:
        """Returns the session.

        Raises:
            Exception: The session could not be made.
        """
        self._finalizer.detach()
        return self._made.result()


def _run(
    make: Callable[[], NewSession],
    keep: Callable[[BlockingDriver], None],
    patience: float,
    outcome: Future[NewSession],
) -> None:
    turns = _turns
    try:
        if not turns.acquire(timeout=patience):
            raise TimeoutError(f"others were moved before it, for {patience:g} s")
        try:
            made = make()
        finally:
            turns.release()
    except BaseException as error:
        outcome.set_exception(error)
    else:
        keep(made.driver)
        outcome.set_result(made)


def close_unwanted(outcome: Future[NewSession] | asyncio.Future[NewSession]) -> None:
    """Closes a session that is no longer needed, in the background."""
    if not outcome.cancelled() and outcome.exception() is None:
        lease_renewer.close_later(outcome.result().driver)


class MoveBudget:
    """Limits the time that moving to other servers takes from stepping: 50 ms at once, half of it in the long run.

    Args:
        clock: Monotonic time, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = _MOVE_SECONDS
        self._at = clock()

    def allows(self) -> bool:
        """Returns whether an environment may move now."""
        now = self._clock()
        self._left = min(self._left + _MOVE_SHARE * (now - self._at), _MOVE_SECONDS)
        self._at = now
        return self._left > 0

    def spend(self, seconds: float) -> None:
        """Notes how long a move took; moves in an event loop overlap, so their times do not add up."""
        self._left = max(self._left - seconds, -_MOVE_SECONDS)


_budget = MoveBudget()


class DrainMigration:
    """Decides when one environment leaves its server, and makes its next session.

    Args:
        maker: Makes the sessions.
        strategy: Decides whether and when the environment may leave.
        budget: The time that moves of the process may take.
        depart: Makes a session in the background.

    Attributes:
        lock: Held by a thread in which the environment leaves.
    """

    def __init__(
        self,
        maker: SessionMaker,
        strategy: RecoveryStrategy,
        budget: MoveBudget = _budget,
        depart: Callable[[Callable[[], NewSession]], Departure] = Departure,
    ) -> None:
        self.lock = threading.Lock()
        self._depart = depart
        self._budget = budget
        self._maker = maker
        self._strategy = strategy
        self._departure: Departure | None = None
        self._not_before = 0.0
        #: When the current move began.
        self._moving_at: float | None = None

    def due(
        self, session: ClientSession, target: str | None, operation: Operation[object]
    ) -> NewSession | None:
        """Returns a session that is ready to replace the current one before a request; None to stay for now.

        Args:
            session: The current session, whose server is about to stop.
            target: Its server.
            operation: The request.
        """
        if session.pending or not session.retries.elsewhere or not self._strategy.moves:
            return None
        if self._departure is None:
            if time.monotonic() >= self._not_before:
                self._departure = self._depart(partial(self._maker.make, self._strategy, target))
            return None
        if not self._departure.ready or not self._strategy.leaves_before(operation):
            return None
        hurry = any(notice.time_left < _HURRY_SECONDS for notice in session.notices)
        if not (self._budget.allows() or hurry):
            return None
        departure, self._departure = self._departure, None
        try:
            made = departure.take()
        except Exception as error:
            _log.info("no session on another server yet: %s", error)
            self._not_before = time.monotonic() + _PAUSE_SECONDS
            return None
        self._moving_at = time.monotonic()
        return made

    def failed(self, made: NewSession, error: BaseException) -> None:
        """Closes a session that could not be brought to the current state; tries again later if that may help."""
        _log.warning("cannot leave a server that is about to stop: %s", error)
        lease_renewer.close_later(made.driver)
        self._moved()
        again = time.monotonic() + _PAUSE_SECONDS
        self._not_before = float("inf") if isinstance(error, ReplayError) else again

    def cancel(self) -> None:
        """Discards the session being made, because the current one is closed, lost or replaced."""
        self._moved()
        self._departure, self._not_before = None, 0.0

    def _moved(self) -> None:
        if self._moving_at is not None:
            self._budget.spend(time.monotonic() - self._moving_at)
            self._moving_at = None
