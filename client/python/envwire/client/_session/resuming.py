"""A transport that outlives its connection.

A session keeps its last reply, and answers a repeated request with it. So a request that got no answer because the
connection broke is simply sent again, on a new connection, until the session's lease is over. The lease begins anew
with each connection that comes about and breaks; the request's own timeout bounds them all. A Make whose connection
broke is sent again under the same request id, for a moment only: there may be other servers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from envwire.client._transports.transport import Transport
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Area, Reply

_log = logging.getLogger("envwire.client")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
#: However long it has tried, it sleeps through no more than this part of a lease.
_PART_OF_LEASE = 0.25
#: Where nobody listens any more no session lives on; this is for a server that is just coming back.
_REFUSED_SECONDS = 2.0
#: For how long a Make is repeated after its connection broke, while somebody listens there.
_MAKE_SECONDS = 2.0


class ResumingTransport:
    """Repeats the requests of one session over whatever connection there is.

    Args:
        transport: Makes the connections.
        label: Names the session in the log.

    Attributes:
        header: Says whose the requests are, however often they are sent; empty until the session is made.
        lease: Seconds for which the session outlives a connection; 0 until it is made.
        resumed: How often the session went on after its connection broke.
    """

    def __init__(self, transport: Transport, label: str) -> None:
        self._transport = transport
        self._offer: Callable[[Area], None] | None = getattr(transport, "offer", None)
        self._label = label
        self._request = b""
        self._timeout = 0.0
        self._begun = 0.0
        self._failure: ServerUnavailableError | None = None
        self._ending = False
        self.header = b""
        self.lease = 0.0
        self.resumed = 0

    def end(self) -> None:
        """Says that a Close comes: it is repeated once and no more, for the lease makes its failure good."""
        self._ending = True

    def exchange(self, request: bytes, timeout: float) -> Reply:
        """Sends a request, again if need be, and returns its reply (see `Transport.exchange`)."""
        self._begun = time.monotonic()
        try:
            return self._transport.exchange(request, timeout, self.header)
        except ServerUnavailableError as failure:
            return self._resume(request, timeout, failure)

    def send(self, request: bytes, timeout: float) -> None:
        """Sends a request (see `Transport.send`); `receive` tells what goes wrong."""
        self._request, self._timeout, self._failure = request, timeout, None
        self._begun = time.monotonic()
        try:
            self._transport.send(request, timeout, self.header)
        except ServerUnavailableError as failure:
            self._failure = failure

    def receive(self) -> Reply:
        """Returns the reply to what was sent, and sends it again if need be (see `Transport.receive`)."""
        try:
            if self._failure is not None:
                raise self._failure
            return self._transport.receive()
        except ServerUnavailableError as failure:
            return self._resume(self._request, self._timeout, failure)

    def _resume(self, request: bytes, timeout: float, failure: ServerUnavailableError) -> Reply:
        if self._ending:
            return self._transport.exchange(request, timeout, self.header)
        lost = cut = time.monotonic()
        deadline = self._begun + timeout
        pause, longest = (
            _FIRST_PAUSE,
            min(_LONGEST_PAUSE, (self.lease or _MAKE_SECONDS) * _PART_OF_LEASE),
        )
        if self.lease:
            span = min(self.lease, timeout)
            _log.warning("%s: %s; trying to go on with it for %g s", self._label, failure, span)
        while (left := min(cut + self._span(failure), deadline) - time.monotonic()) > 0:
            time.sleep(min(pause, left))
            pause = min(2 * pause, longest)
            try:
                # Once it is connected the lease stands still, and the environment has all of its time.
                patience = max(deadline - time.monotonic(), pause)
                reply = self._transport.exchange(request, patience, self.header)
            except ServerUnavailableError as again:
                failure = again
                cut = time.monotonic() if failure.connected and self.lease else cut
            else:
                self.resumed += bool(self.lease)
                _log.info("%s: goes on after %.1f s", self._label, time.monotonic() - lost)
                return reply
        raise failure

    def _span(self, failure: ServerUnavailableError) -> float:
        """Returns for how many seconds after a cut it makes sense to try again."""
        if not self.lease:
            return _MAKE_SECONDS if failure.connected and not failure.refused else 0.0
        return min(self.lease, _REFUSED_SECONDS) if failure.refused else self.lease

    def fileno(self) -> int:
        """Returns what is readable once a reply has come (see `Transport.fileno`)."""
        return -1 if self._failure is not None else self._transport.fileno()

    def offer(self, place: Area) -> None:
        """Says where the attachments of the next reply shall go, to a transport that receives them in place."""
        if self._offer is not None:
            self._offer(place)

    def keep_alive(self, request: bytes) -> None:
        """Renews a lease (see `Transport.keep_alive`)."""
        self._transport.keep_alive(request, self.header)

    def close(self) -> None:
        """Frees the connection (see `Transport.close`)."""
        self._transport.close()
