"""Ports: errors of those that cannot be bound, options of connections, and peers that are not identified yet.

The number of connections of such peers is bounded. A connection beyond a bound takes the place of an older one, of the
same peer or of the peer with most of them. Refusing it instead would let a peer that says nothing keep others out: a
health probe needs milliseconds, and is soon done.
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

#: Options for detecting a client whose machine is gone: idle seconds, seconds between probes, number of probes.
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))


def set_options(connection: socket.socket) -> None:
    """Has a client's connection send at once, and notice that the client's machine is gone."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def check_free(host: str, port: int) -> None:
    """Checks that a port is free, since gRPC's own error would not name the option.

    Raises:
        OSError: The port is in use, or the address is not this machine's.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        raise cannot_bind(host, port, "--port", error) from error


def cannot_bind(
    host: str, port: int, option: str, error: OSError, zero: str = "any free one"
) -> OSError:
    """Returns the error for an address that cannot be bound.

    Args:
        host: The address.
        port: The port.
        option: The option that names the port.
        error: The system's error.
        zero: Meaning of 0 for the option.
    """
    if error.errno == errno.EADDRINUSE:
        return OSError(
            f"cannot bind {host}:{port}: the port is in use, by another server perhaps. Stop that, or give another: "
            f"{option} N, where 0 is {zero}"
        )
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return OSError(
            f"cannot bind {host}:{port}: {host} is not an address of this machine; give one as --host, 0.0.0.0 for all"
        )
    return OSError(f"cannot bind {host}:{port} ({option}): {error.strerror}")


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


async def dial(host: str, port: int) -> socket.socket:
    """Connects to the first address of a host that answers.

    Raises:
        OSError: None does.
    """
    loop = asyncio.get_running_loop()
    found: Any = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in found:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.setblocking(False)
            set_options(connection)
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise failure
