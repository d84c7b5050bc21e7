"""Background thread that renews leases, and closes sessions whose proxy was garbage-collected or whose program exits.

The garbage collector may run anywhere, even while gRPC holds a lock, so a finalizer only queues the session for the
thread. At exit, the remaining sessions are closed in the main thread, each with a deadline, so that exit never hangs.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import threading
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._transports.portability import after_fork_in_child

_open: weakref.WeakSet[BlockingDriver] = weakref.WeakSet()
_unclosed: SimpleQueue[BlockingDriver] = SimpleQueue()
#: Sessions of the parent process. Referenced so that this process never frees their connections.
_inherited: list[BlockingDriver] = []
_lock = threading.Lock()
_running = False
_PERIOD_SECONDS = 0.2
_CLOSE_SECONDS, _EXIT_SECONDS = 2.0, 5.0


def look_after(owner: object, driver: BlockingDriver) -> Callable[[], object]:
    """Closes a session when `owner` is garbage-collected or the program exits, and renews its lease until then.

    Returns:
        What to call when another part of the program closes the session: it forgets the owner.
    """
    finalizer = weakref.finalize(owner, _unclosed.put, driver)
    finalizer.atexit = False
    keep(driver)
    return finalizer.detach


def close_later(driver: BlockingDriver) -> None:
    """Closes a session in the background."""
    keep(driver)
    _unclosed.put(driver)


def keep(driver: BlockingDriver) -> None:
    """Renews the lease of a session, and closes it when the program exits."""
    global _running  # noqa: PLW0603 - one thread for all sessions
    with _lock:
        _open.add(driver)
        if not _running:
            threading.Thread(target=_keep, name="envwire-keeper", daemon=True).start()
            _running = True


def release(driver: BlockingDriver) -> None:
    """Stops renewing the lease of a session, which is closed or gone."""
    with _lock:
        _open.discard(driver)


def _keep() -> None:
    """Closes queued sessions and renews leases; each call has a short deadline."""
    renewed: weakref.WeakKeyDictionary[BlockingDriver, float] = weakref.WeakKeyDictionary()
    while True:
        with contextlib.suppress(Empty):
            _close(_unclosed.get(timeout=_PERIOD_SECONDS), _CLOSE_SECONDS)
        _renew(renewed)


def _renew(renewed: weakref.WeakKeyDictionary[BlockingDriver, float]) -> None:
    """Renews the leases that are due. A function of its own, so that the thread refers to no session while it waits."""
    with _lock:
        drivers = list(_open)
    now = time.monotonic()
    for driver in drivers:
        # At once for a new session: the interpreter may be held until after its lease.
        if now - renewed.get(driver, -math.inf) > driver.session.retries.lease / 3:
            renewed[driver] = now
            # A lost session is reported by its next request.
            with contextlib.suppress(Exception):
                driver.keep_alive()


def _close(driver: BlockingDriver, timeout: float) -> None:
    release(driver)
    driver.session.retries.refused_span = 0.0  # nobody waits for a server that may come back
    with contextlib.suppress(Exception):
        driver.close(timeout)


def _close_all() -> None:
    """Closes the open sessions when the program exits; those that do not close in time end with their leases."""
    deadline = time.monotonic() + _EXIT_SECONDS
    with _lock:
        drivers = list(_open)
    for driver in drivers:
        left = deadline - time.monotonic()
        if left > 0:
            _close(driver, min(left, _CLOSE_SECONDS))
        else:
            driver.kill()


def _after_fork() -> None:
    global _open, _unclosed, _lock, _running  # noqa: PLW0603 - the parent's locks and threads are not in the child
    _inherited.extend(_open)
    _open = weakref.WeakSet[BlockingDriver]()
    _unclosed = SimpleQueue[BlockingDriver]()
    _lock, _running = threading.Lock(), False


atexit.register(_close_all)
after_fork_in_child(_after_fork)
