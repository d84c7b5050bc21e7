"""Watches the sockets of direct channels in an event loop, which sees one descriptor for all of them.

For each readable descriptor a loop makes an event, looks up its callback and schedules it, which took 0.7 us of the 11
that a client spent on a step among 100 environments. Here a batch of readable sockets is one event of the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
from collections.abc import Callable


class LoopSockets:
    """The sockets of one event loop.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._poll = select.epoll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        loop.add_reader(self._poll.fileno(), self._call_back)

    def watch(self, descriptor: int, callback: Callable[[], None]) -> None:
        """Calls back whenever the descriptor is readable."""
        self._poll.register(descriptor, select.EPOLLIN)
        self._callbacks[descriptor] = callback

    def unwatch(self, descriptor: int) -> bool:
        """Stops watching a descriptor, if it is watched; returns whether others are. Without any, nothing is kept."""
        if self._callbacks.pop(descriptor, None) is not None:
            with contextlib.suppress(OSError):  # it is closed already
                self._poll.unregister(descriptor)
        if not self._callbacks:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._poll.fileno())
            self._poll.close()
        return bool(self._callbacks)

    def _call_back(self) -> None:
        for descriptor, _ in self._poll.poll(0):
            # A callback may have ended the watch of another descriptor.
            if (callback := self._callbacks.get(descriptor)) is not None:
                callback()


_of_loops: dict[asyncio.AbstractEventLoop, LoopSockets] = {}


def watch(loop: asyncio.AbstractEventLoop, descriptor: int, callback: Callable[[], None]) -> None:
    """Calls back in a loop whenever a descriptor is readable."""
    if not hasattr(select, "epoll"):  # only Linux has it
        loop.add_reader(descriptor, callback)
        return
    if loop not in _of_loops:
        _of_loops[loop] = LoopSockets(loop)
    _of_loops[loop].watch(descriptor, callback)


def unwatch(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    """Stops watching a descriptor, if it is watched. The loop may be closed."""
    sockets = _of_loops.get(loop)
    if sockets is not None:
        if not sockets.unwatch(descriptor):
            del _of_loops[loop]
    elif not loop.is_closed():
        loop.remove_reader(descriptor)
