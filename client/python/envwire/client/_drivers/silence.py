"""Detects servers that have stopped answering: a stopped process keeps its connections open and sends nothing.

When an answer is late, the server's front is probed with a cheap request, on a separate connection with its own
deadline. While the front answers, the step is merely long. If it misses two probes in a row, the wait is ended. Only
sessions that could move to another server are watched; for the others there is nothing to do but wait. If only a farm's
gateway knows other servers, the wait goes on until the gateway reports that the server is dead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeAlias

from envwire.client._drivers.watchdog import Deadline
from envwire.client._transports.transport import InPlace, Probeable, Transport
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Area, Reply

#: The front is probed once an answer takes longer than this, and again each time that as many seconds pass.
LATE_SECONDS = 1.0
#: How long a probe waits: a front answers in milliseconds, an overloaded one within this time.
PROBE_SECONDS = 1.0
#: A server counts as silent after missing this many probes in a row; a single probe may be lost.
PROBES = 2
#: How often, and how many times, a verdict on a silent server is asked for before that is probed again. A gateway takes
#: 3 to 4.5 s to pronounce a server dead; with new probes between two verdicts the wait was 6.3 to 6.5 s.
VERDICT_SECONDS, VERDICTS = 0.2, 10


#: Decides whether a silent server is lost; it may take a second.
Verdict: TypeAlias = Callable[[], bool]


def silence_is_loss() -> bool:
    """The verdict if the client knows other servers."""
    return True


class ProbeableTransport(Transport, Probeable, Protocol):
    """A transport whose server can be probed, and whose wait can be ended."""


class WatchedTransport:
    """A transport that ends a wait if the server has stopped answering.

    Args:
        transport: The transport that exchanges messages.
        verdict: Decides whether a silent server is lost.
    """

    def __init__(self, transport: ProbeableTransport, verdict: Verdict = silence_is_loss) -> None:
        self._transport = transport
        self._verdict = verdict
        self._in_place = transport if isinstance(transport, InPlace) else None
        self._late = Deadline(self._probe_later)
        self._wait = 0
        #: The wait that was ended because of silence.
        self._silent = -1
        #: When the connection first failed since the last reply.
        self._cut_at = 0.0

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        self._begin()
        try:
            reply = self._transport.exchange(request, timeout, header)
        except ServerUnavailableError as failure:
            failure.silent = self._is_lost()
            raise
        finally:
            self._end()
        self._cut_at = 0.0
        return reply

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request (see `Transport.send`)."""
        self._begin()
        self._transport.send(request, timeout, header)

    def receive(self) -> Reply:
        """Waits for the reply (see `Transport.receive`)."""
        try:
            reply = self._transport.receive()
        except ServerUnavailableError as failure:
            failure.silent = self._is_lost()
            raise
        finally:
            self._end()
        self._cut_at = 0.0
        return reply

    def _is_lost(self) -> bool:
        """Returns whether a failed wait means that the server is lost: silent, or dead by the gateway."""
        if self._silent == self._wait:
            return True
        if self._verdict is silence_is_loss:  # a refused connection is not silence
            return False
        now = time.monotonic()
        self._cut_at = self._cut_at or now
        if now - self._cut_at < LATE_SECONDS or self._transport.probe(PROBE_SECONDS):
            return False
        return self._verdict()

    def _begin(self) -> None:
        self._wait += 1
        self._late.start(LATE_SECONDS)

    def _end(self) -> None:
        self._late.stop()
        self._wait += 1

    def _probe_later(self) -> None:
        """Probes the server in a thread, because a probe of a silent server takes long."""
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
        for _ in range(VERDICTS):
            lost = self._verdict()
            if self._wait != wait:
                return
            if lost:
                self._silent = wait
                self._transport.interrupt()
                return
            time.sleep(VERDICT_SECONDS)
        if self._wait == wait:
            self._late.start(LATE_SECONDS)

    def fileno(self) -> int:
        """Returns a descriptor that is readable once a reply has arrived (see `Transport.fileno`)."""
        return self._transport.fileno()

    def offer(self, buffer: Area) -> None:
        """Offers a buffer for the attachments of the next reply (see `InPlace.offer`)."""
        if self._in_place is not None:
            self._in_place.offer(buffer)

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease (see `Transport.keep_alive`)."""
        self._transport.keep_alive(request, header)

    def close(self) -> None:
        """Closes the transport (see `Transport.close`)."""
        self._late.stop()
        self._wait += 1
        self._transport.close()
