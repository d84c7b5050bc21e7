"""Detects servers that have stopped answering: a stopped process keeps its connections open and sends nothing.

When an answer is late, the server's front is asked something cheap, on a connection of its own and with a deadline of
its own. While it answers, a long step is only a long step. When it does not, twice in a row, the wait is ended. Only
sessions that could go on elsewhere are watched; for the others waiting is all there is.
"""

from __future__ import annotations

import threading
from typing import Protocol

from envwire.client._drivers.watchdog import Deadline
from envwire.client._transports.transport import InPlace, Probeable, Transport
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Area, Reply

#: An answer that takes longer than this has the front probed, and once more each time it takes as long again.
LATE_SECONDS = 1.0
#: A front that is alive answers in milliseconds, and one that is overloaded within this time.
PROBE_SECONDS = 1.0
#: Number of probes in a row that a silent server has missed; a single one may be lost.
PROBES = 2


class ProbeableTransport(Transport, Probeable, Protocol):
    """A transport whose wait can be ended, and whose server can be probed."""


class WatchedTransport:
    """A transport that ends a wait when the server has fallen silent.

    Args:
        transport: The transport.
    """

    def __init__(self, transport: ProbeableTransport) -> None:
        self._transport = transport
        self._in_place = transport if isinstance(transport, InPlace) else None
        self._late = Deadline(self._probe_later)
        self._wait = 0
        #: The wait that was ended because of silence.
        self._silent = -1

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        self._begin()
        try:
            return self._transport.exchange(request, timeout, header)
        except ServerUnavailableError as failure:
            failure.silent = self._silent == self._wait
            raise
        finally:
            self._end()

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request (see `Transport.send`)."""
        self._begin()
        self._transport.send(request, timeout, header)

    def receive(self) -> Reply:
        """Waits for the reply (see `Transport.receive`)."""
        try:
            return self._transport.receive()
        except ServerUnavailableError as failure:
            failure.silent = self._silent == self._wait
            raise
        finally:
            self._end()

    def _begin(self) -> None:
        self._wait += 1
        self._late.start(LATE_SECONDS)

    def _end(self) -> None:
        self._late.stop()
        self._wait += 1

    def _probe_later(self) -> None:
        """Has the server probed: by a thread of its own, since a probe of a silent server takes its time."""
        args = (self._wait,)
        threading.Thread(target=self._probe, args=args, name="envwire-probe", daemon=True).start()

    def _probe(self, wait: int) -> None:
        for _ in range(PROBES):
            if self._transport.probe(PROBE_SECONDS):
                if self._wait == wait:
                    self._late.start(LATE_SECONDS)
                return
            if self._wait != wait:
                return
        self._silent = wait
        self._transport.interrupt()

    def fileno(self) -> int:
        """Returns what is readable once a reply has come (see `Transport.fileno`)."""
        return self._transport.fileno()

    def offer(self, buffer: Area) -> None:
        """Says where the attachments of the next reply shall go (see `InPlace.offer`)."""
        if self._in_place is not None:
            self._in_place.offer(buffer)

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease (see `Transport.keep_alive`)."""
        self._transport.keep_alive(request, header)

    def close(self) -> None:
        """Frees the connection (see `Transport.close`)."""
        self._late.stop()
        self._wait += 1
        self._transport.close()
