"""A relay between client and server that cuts connections at the byte that a test sets."""

from __future__ import annotations

import contextlib
import enum
import socket
import struct
from collections.abc import Callable, Iterable
from threading import Condition, Thread
from typing import NamedTuple

_RESET = struct.pack("ii", 1, 0)


class How(enum.Enum):
    """What happens to a connection."""

    RESET = "reset"
    HALF_CLOSE = "half-close"
    SWALLOW = "swallow"


class Cut(NamedTuple):
    """Where and how a connection is cut.

    Attributes:
        upwards: Whether it is cut on the way to the server.
        after: Bytes that are passed on in this direction.
        how: What happens then.
    """

    upwards: bool
    after: int
    how: How = How.RESET


class Relay:
    """Passes connections on to a port, the first of them with the first cut, and so on; those left are not cut.

    Args:
        cuts: One for each connection.

    Attributes:
        upstream: Port of the server; 0 to close connections at once.
        taken: How many connections came.
        passed: Bytes of the last connection that were passed on, by direction.
    """

    def __init__(self, cuts: Iterable[Cut] = ()) -> None:
        self._cuts = list(cuts)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: tuple[socket.socket, ...] = ()
        self._changed = Condition()
        self.upstream = 0
        self.taken = 0
        self.passed = {True: 0, False: 0}
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        """Where clients connect."""
        return int(self._server.getsockname()[1])

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                cut = self._cuts[self.taken] if self.taken < len(self._cuts) else None
                self.taken += 1
                thread = Thread(target=self._connect, args=(client, cut))
                self._threads.append(thread)
                thread.start()

    def _connect(self, client: socket.socket, cut: Cut | None) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self.upstream))
        except OSError:
            client.close()
            return
        with client, server:
            self._open, self.passed = (client, server), {True: 0, False: 0}
            down = Thread(target=self._pump, args=(server, client, False, cut, self.passed))
            down.start()
            self._pump(client, server, True, cut, self.passed)
            down.join()

    def _pump(
        self,
        source: socket.socket,
        sink: socket.socket,
        upwards: bool,
        cut: Cut | None,
        passed: dict[bool, int],
    ) -> None:
        left = cut.after if cut is not None and cut.upwards == upwards else 2**62
        with contextlib.suppress(OSError):
            while left and (data := source.recv(min(left, 65536))):
                with self._changed:  # first: whoever has the answer finds its request counted
                    passed[upwards] += len(data)
                sink.sendall(data)
                left -= len(data)
                with self._changed:
                    self._changed.notify_all()
            if left or cut is None:
                sink.shutdown(socket.SHUT_WR)
            elif source.recv(1, socket.MSG_PEEK):  # inside what is sent, not before it
                _CUTS[cut.how](source, sink)

    def wait(self, upwards: bool, more_than: int) -> None:
        """Waits until more bytes than these were passed on in one direction."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.passed[upwards] > more_than, 60.0)

    def cut(self) -> None:
        """Resets the connection that is open."""
        _reset(*self._open)

    def close(self) -> None:
        """Ends all."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._threads[0].join()
        self.cut()
        for thread in self._threads:
            thread.join()


def _reset(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            end.shutdown(socket.SHUT_RDWR)


def _half_close(_: socket.socket, sink: socket.socket) -> None:
    sink.shutdown(socket.SHUT_WR)


def _swallow(source: socket.socket, _: socket.socket) -> None:
    while source.recv(65536):
        pass


_CUTS: dict[How, Callable[[socket.socket, socket.socket], None]] = {
    How.RESET: _reset,
    How.HALF_CLOSE: _half_close,
    How.SWALLOW: _swallow,
}
