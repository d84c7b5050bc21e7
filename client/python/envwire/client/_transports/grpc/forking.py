"""Forks of programs with gRPC connections: no call of a transport is under way while the process forks.

gRPC's own handlers of forks wait a second for each open stream, and hang for ever if another thread is inside a call
(gRPC 1.85). Before a fork, transports therefore finish their calls, or have them cancelled, and close idle streams. The
next request opens a stream again; a cancelled one is repeated by its session, as after a broken connection.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

#: Seconds before a fork for calls under way to end by themselves; most steps take a millisecond. Then they are
#: cancelled, which takes about as long.
_FINISH_SECONDS, _CANCEL_SECONDS = 0.25, 1.0


class Forkable(Protocol):
    """A connection that can be at rest while the process forks.

    Attributes:
        in_use: Held during a call.
        user: The thread that began the last call.
        rest: Closes what is open between calls.
        interrupt: Ends the call that is under way in another thread.
    """

    in_use: threading.Lock
    user: int
    rest: Callable[[], object]
    interrupt: Callable[[], object]


class _Forks:
    """The connections of this process, and those that are held for a fork.

    Attributes:
        turn: Held while the process forks, and while a channel is opened or closed or a call begins that goes on by
            itself: a child would inherit gRPC's locks, held. Re-entrant, as collecting garbage may close a channel.
        forking: Whether the process is about to fork: who begins a call waits for its turn first, because a thread that
            steps without a pause would otherwise never let go of its connection.
    """

    def __init__(self) -> None:
        self._known: weakref.WeakSet[Forkable] = weakref.WeakSet()
        self._held: list[Forkable] = []
        self.turn = threading.RLock()
        self.forking = False
        self._hooked = False

    def register(self, connection: Forkable) -> None:
        """Includes a connection, whose channel is open, in all forks from now on. Called in turn."""
        self._known.add(connection)
        # Hooks run in reverse order. gRPC adds its own with its first channel, and ours must come before that.
        if not self._hooked and hasattr(os, "register_at_fork"):
            self._hooked = True
            os.register_at_fork(
                before=self._before, after_in_parent=self._after, after_in_child=self._after
            )

    def _before(self) -> None:
        self.turn.acquire()
        self.forking = True
        finish = time.monotonic() + _FINISH_SECONDS
        late = [each for each in list(self._known) if not self._held_by(each, finish)]
        for connection in late:
            connection.interrupt()
        for connection in late:
            if connection.user != threading.get_ident():  # else this thread has sent its request
                self._held_by(connection, finish + _CANCEL_SECONDS)
        for connection in self._held:
            connection.rest()

    def _held_by(self, connection: Forkable, deadline: float) -> bool:
        own = connection.in_use.locked() and connection.user == threading.get_ident()
        left = 0.0 if own else max(0.0, deadline - time.monotonic())
        if held := connection.in_use.acquire(timeout=left):
            self._held.append(connection)
        return held

    def _after(self) -> None:
        while self._held:
            self._held.pop().in_use.release()
        self.forking = False
        self.turn.release()


forks = _Forks()
register, turn = forks.register, forks.turn
