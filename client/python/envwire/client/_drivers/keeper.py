"""Background thread that renews leases, and closes sessions whose proxy was collected or whose program exits.

A collector may run anywhere, even inside a lock of gRPC's, so it only hands the session to a thread. Exit closes what
is left itself, each with a deadline, so that leaving never hangs.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from queue import Empty, SimpleQueue

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._transports.portability import after_fork_in_child

_open: weakref.WeakSet[BlockingDriver] = weakref.WeakSet()
_unclosed: SimpleQueue[BlockingDriver] = SimpleQueue()
#: Sessions of a parent process: never touched again, not even to be freed.
_inherited: list[BlockingDriver] = []
_keepers: dict[int, threading.Thread] = {}
_lock = threading.Lock()
_PERIOD_SECONDS = 0.2
_CLOSE_SECONDS, _EXIT_SECONDS = 2.0, 5.0


def look_after(owner: object, session: BlockingDriver) -> None:
    """Closes `session` when `owner` is collected or the program exits, and keeps its lease until then."""
    weakref.finalize(owner, _unclosed.put, session).atexit = False
    keep(session)


def close_later(session: BlockingDriver) -> None:
    """Closes a session in the background."""
    keep(session)
    _unclosed.put(session)


def keep(session: BlockingDriver) -> None:
    """Keeps the lease of `session`, and closes it when the program exits."""
    with _lock:
        _open.add(session)
        if os.getpid() not in _keepers:
            keeper = threading.Thread(target=_keep, name="envwire-keeper", daemon=True)
            _keepers[os.getpid()] = keeper
            keeper.start()


def release(session: BlockingDriver) -> None:
    """Looks after `session` no more: it is closed, or gone."""
    with _lock:
        _open.discard(session)


def _keep() -> None:
    """Closes sessions that their owners left open and renews leases; each call has a short deadline."""
    renewed: weakref.WeakKeyDictionary[BlockingDriver, float] = weakref.WeakKeyDictionary()
    while True:
        with contextlib.suppress(Empty):
            _close(_unclosed.get(timeout=_PERIOD_SECONDS), _CLOSE_SECONDS)
        with _lock:
            sessions = list(_open)
        now = time.monotonic()
        for session in sessions:
            if now - renewed.setdefault(session, now) > session.lease / 3:
                renewed[session] = now
                # A session that is lost says so at its next request; here it is no news.
                with contextlib.suppress(Exception):
                    session.keep_alive()


def _close(session: BlockingDriver, timeout: float) -> None:
    release(session)
    with contextlib.suppress(Exception):
        session.close(timeout)


def _close_all() -> None:
    """Closes what is open when the program exits; when time is up, leases do the rest."""
    deadline = time.monotonic() + _EXIT_SECONDS
    for session in list(_open):
        left = deadline - time.monotonic()
        if left > 0:
            _close(session, min(left, _CLOSE_SECONDS))
        else:
            session.kill()


def _after_fork() -> None:
    global _open, _unclosed, _lock  # noqa: PLW0603 - the parent's locks and threads are not in the child
    _inherited.extend(_open)
    _open = weakref.WeakSet[BlockingDriver]()
    _unclosed = SimpleQueue[BlockingDriver]()
    _lock = threading.Lock()
    _keepers.clear()


atexit.register(_close_all)
after_fork_in_child(_after_fork)
