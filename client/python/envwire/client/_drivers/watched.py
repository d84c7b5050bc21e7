"""Waits of a blocking client end: at a deadline, or when the server has stopped answering.

gRPC takes no timeout for the next message of a stream. One thread checks all such waits ten times a second and cancels
those that are overdue; starting a wait only stores its deadline.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from envwire.client._drivers.coroutines import run
from envwire.client._drivers.failure_detection import FailureDetector, FailureMonitor
from envwire.client._transports.portability import after_fork_in_child
from envwire.client._transports.transport import Transport
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Area, Reply

_PERIOD_SECONDS = 0.1


class Deadline:
    """The deadline of the current wait on one connection.

    Args:
        cancel: Ends the wait; called from another thread.

    Attributes:
        at: When the current wait ends, by the monotonic clock; infinity without one. A stream sets it for each step.
        missed: Whether a wait was overdue.
    """

    def __init__(self, cancel: Callable[[], object] = lambda: None) -> None:
        self._cancel = cancel
        self.at = math.inf
        self.missed = False
        _watch(self)

    def start(self, seconds: float) -> None:
        """Starts a wait."""
        self.at = time.monotonic() + seconds

    def stop(self) -> None:
        """Ends a wait."""
        self.at = math.inf

    def check(self, now: float) -> None:
        """Cancels the wait when it is overdue."""
        if now > self.at:
            self.missed, self.at = True, math.inf
            self._cancel()


_watched: weakref.WeakSet[Deadline] = weakref.WeakSet()
_lock = threading.Lock()
_running = False


def _watch(deadline: Deadline) -> None:
    global _running  # noqa: PLW0603 - one thread for all connections
    with _lock:
        _watched.add(deadline)
        if not _running:
            threading.Thread(target=_run, name="envwire-watchdog", daemon=True).start()
            _running = True


def _run() -> None:
    while True:
        time.sleep(_PERIOD_SECONDS)
        with _lock:
            watched = list(_watched)
        now = time.monotonic()
        for deadline in watched:
            deadline.check(now)


def _after_fork() -> None:
    """Forgets the parent's lock, which a thread may have held, and its thread and connections."""
    global _lock, _running
    _lock, _running = threading.Lock(), False
    _watched.clear()


after_fork_in_child(_after_fork)


class _WaitsOfThread:
    """Waits of a thread (see `Waits`)."""

    async def call(self, function: Callable[[], bool]) -> bool:
        return function()

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class WatchedTransport(Transport):
    """A transport whose waits end when the server has stopped answering.

    Args:
        transport: The transport that exchanges messages.
        detector: Decides whether a silent server is lost.
    """

    def __init__(self, transport: Transport, detector: FailureDetector) -> None:
        self._transport = transport
        late = Deadline(self._probe_later)
        self._monitor = FailureMonitor(
            late, transport, detector, transport.interrupt, _WaitsOfThread()
        )

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        self._monitor.begin()
        return self._awaited(self._transport.exchange, request, timeout, header)

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request (see `Transport.send`)."""
        self._monitor.begin()
        self._transport.send(request, timeout, header)

    def receive(self) -> Reply:
        """Waits for the reply (see `Transport.receive`)."""
        return self._awaited(self._transport.receive)

    @property
    def pipelines(self) -> bool:
        """Whether several requests can be in flight (see `Transport.pipelines`)."""
        return self._transport.pipelines

    def send_ahead(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request (see `Transport.send_ahead`); its wait begins with `receive_ahead`."""
        self._transport.send_ahead(request, timeout, header)

    def receive_ahead(self, timeout: float) -> Reply:
        """Waits for the reply to the oldest request (see `Transport.receive_ahead`)."""
        self._monitor.begin()
        return self._awaited(self._transport.receive_ahead, timeout)

    def _awaited(self, receive: Callable[..., Reply], *args: Any) -> Reply:
        try:
            reply = receive(*args)
        except ServerUnavailableError as failure:
            failure.silent = run(self._monitor.failed(failure, time.monotonic()))
            raise
        finally:
            self._monitor.end()
        self._monitor.cut_at = 0.0
        return reply

    def _probe_later(self) -> None:
        """Probes the server in a thread, because probing a silent server takes up to a second."""
        args = (self._monitor.judge(),)
        threading.Thread(target=run, args=args, name="envwire-probe", daemon=True).start()

    def fileno(self) -> int:
        """Returns what to poll for the reply (see `Transport.fileno`)."""
        return self._transport.fileno()

    def set_buffer(self, buffer: Area) -> None:
        """Offers a buffer (see `Transport.set_buffer`)."""
        self._transport.set_buffer(buffer)

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease (see `Transport.keep_alive`)."""
        self._transport.keep_alive(request, header)

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers (see `Transport.probe`)."""
        return self._transport.probe(timeout)

    def interrupt(self) -> None:
        """Breaks the connection (see `Transport.interrupt`)."""
        self._transport.interrupt()

    def close(self) -> None:
        """Closes the transport (see `Transport.close`)."""
        self._monitor.end()
        self._transport.close()
