"""Accepts connections of peers that are not identified yet, and bounds how many there are.

A connection beyond a bound takes the place of an older one, of the same peer or of the peer with most of them. Refusing
it instead would let a peer that says nothing keep others out: a health probe needs milliseconds, and is soon done.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from envwire.server._auth.access import counted_as

#: Errors of a system that is temporarily out of files or memory.
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_SECONDS = 0.2
_BACKLOG = 512

Work = Coroutine[Any, Any, None]


class Bounds(NamedTuple):
    """How many unidentified connections there may be: of all peers, and of each. A network of IPv6 is one peer."""

    of_all: int
    of_a_peer: int


class Newcomers:
    """The unidentified connections, and the tasks that serve them.

    Args:
        bounds: Their largest numbers.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._open: dict[asyncio.Task[None], tuple[str, socket.socket]] = {}  # the oldest first

    def start(self, peer: str, connection: socket.socket, work: Work) -> None:
        """Starts serving a connection of a peer; cuts an older one if there are too many."""
        numbers = Counter(of for of, _ in self._open.values())
        if numbers[peer] >= self._bounds.of_a_peer:
            self._cut_oldest(peer)
        elif len(self._open) >= self._bounds.of_all:
            self._cut_oldest(max(numbers, key=numbers.__getitem__))
        task = asyncio.ensure_future(work)
        self._open[task] = peer, connection
        task.add_done_callback(self.discard)

    def _cut_oldest(self, peer: str) -> None:
        task = next(task for task, (of, _) in self._open.items() if of == peer)
        _, connection = self._open.pop(task)
        # Not by cancelling the task: `wait_for` of Python 3.11 may return instead, and the task goes on.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def discard(self, task: asyncio.Task[None]) -> None:
        """Stops counting a connection, since it was closed or its peer is identified."""
        self._open.pop(task, None)

    def cancel(self) -> None:
        """Cancels all tasks."""
        for task in self._open:
            task.cancel()


class Acceptor:
    """Accepts connections on listening sockets.

    Args:
        serve: Serves a connection, and closes it.
        bounds: How many connections may be unidentified.

    Attributes:
        newcomers: The tasks that serve connections.
    """

    def __init__(self, serve: Callable[[socket.socket], Work], bounds: Bounds) -> None:
        self.newcomers = Newcomers(bounds)
        self._serve = serve
        self._listeners: list[socket.socket] = []

    def listen(self, listener: socket.socket) -> None:
        """Accepts the connections of a bound socket, which it owns from now on."""
        listener.setblocking(False)
        listener.listen(_BACKLOG)
        self._listeners.append(listener)
        self._resume(listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, address = listener.accept()
        except OSError as error:
            if error.errno in _NO_ROOM:
                self._pause(listener)
            return
        connection.setblocking(False)
        peer = counted_as("" if listener.family == socket.AF_UNIX else address[0])
        self.newcomers.start(peer, connection, self._serve(connection))

    def _pause(self, listener: socket.socket) -> None:
        """Pauses accepting, since the event loop would report an unacceptable connection over and over."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener)
        loop.call_later(_PAUSE_SECONDS, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def stop(self) -> None:
        """Stops listening, and cancels the tasks of unidentified connections. Stopping twice is harmless."""
        self.newcomers.cancel()
        while self._listeners:
            listener = self._listeners.pop()
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()
