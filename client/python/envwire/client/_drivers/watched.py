"""The transport of a blocking client that ends a wait if the server has stopped answering."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from envwire.client._drivers.coroutines import run
from envwire.client._drivers.failure_detection import FailureDetector, FailureMonitor
from envwire.client._drivers.watchdog import Deadline
from envwire.client._transports.transport import InPlace, Pipelined, Probeable, Transport
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Reply


class _WaitsOfThread:
    """Waits of a thread (see `Waits`)."""

    async def call(self, function: Callable[[], bool]) -> bool:
        return function()

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class ProbeableTransport(Transport, Probeable, Protocol):
    """A transport whose server can be probed, and whose wait can be ended."""


class WatchedTransport:
    """A transport whose waits end when the server has stopped answering.

    Args:
        transport: The transport that exchanges messages.
        detector: Decides whether a silent server is lost.
    """

    def __init__(self, transport: ProbeableTransport, detector: FailureDetector) -> None:
        self._transport = transport
        self.fileno, self.keep_alive = transport.fileno, transport.keep_alive
        if isinstance(transport, InPlace):
            self.set_buffer = transport.set_buffer
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
        """Whether several requests can be in flight (see `Pipelined.pipelines`)."""
        return isinstance(self._transport, Pipelined) and self._transport.pipelines

    def send_ahead(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request (see `Pipelined.send_ahead`); its wait begins with `receive_ahead`."""
        self._pipelined.send_ahead(request, timeout, header)

    def receive_ahead(self, timeout: float) -> Reply:
        """Waits for the reply to the oldest request (see `Pipelined.receive_ahead`)."""
        self._monitor.begin()
        return self._awaited(self._pipelined.receive_ahead, timeout)

    @property
    def _pipelined(self) -> Pipelined:
        assert isinstance(self._transport, Pipelined)  # noqa: S101 - `pipelines` was asked before
        return self._transport

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

    def close(self) -> None:
        """Closes the transport (see `Transport.close`)."""
        self._monitor.end()
        self._transport.close()
