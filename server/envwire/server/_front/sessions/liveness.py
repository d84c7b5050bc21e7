"""SessionLiveness of a session: its client's presence, and the times from which its lease and its deadline count."""

from __future__ import annotations

import math
import select
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from envwire.server._processes.link import SessionLink
from envwire.server._processes.process import Process


class ConnectionMonitor:
    """Watches the connection of a direct channel for its end, without asking the session process.

    A session process could claim forever that its client is connected, to keep its session. The front therefore keeps
    a descriptor of the connection and asks the kernel about its state. Traffic on it does not wake the front.

    Args:
        client: The client's own socket; the caller keeps ownership.
        connection: The socket that the session process reads: the same, or the inner one of a TLS relay.

    Attributes:
        unread: Whether the last check found bytes that the process had not read.

    Raises:
        OSError: The connection is already closed, or no more files can be opened.
    """

    def __init__(self, client: socket.socket, connection: socket.socket | None = None) -> None:
        self.unread = False
        self._client = client.dup()
        self._read = self._client
        if connection is not None and connection is not client:
            try:
                self._read = connection.dup()
            except OSError:
                self._client.close()
                raise
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)
        both = select.POLLRDHUP | (select.POLLIN if self._read is self._client else 0)
        self._poll.register(self._client, both)

    @property
    def was_open(self) -> bool:
        """Whether the last check found the connection open on both sides."""
        return self._client.fileno() >= 0

    def is_open(self) -> bool:
        """Checks whether the connection is open on both sides, which takes about 1 us."""
        if self._client.fileno() < 0:
            return False
        events = dict(self._poll.poll(0))
        self.unread = bool(events.get(self._read.fileno(), 0) & select.POLLIN)
        if events.get(self._client.fileno(), 0) & ~select.POLLIN:
            self.close()
        return self.was_open

    def close(self) -> None:
        """Closes these descriptors; the connection ends once the session process has closed its own."""
        self.unread = False
        self._client.close()
        self._read.close()


#: Seconds after which a process that leaves requests unread is probed. A process that merely waits for a client to read
#: its replies answers the probe.
UNREAD_SECONDS = 0.5


@dataclass(eq=False)
class SessionLiveness:
    """What the client and the process of a session do, as far as the front can tell.

    Args:
        process: The session's process.
        link: The session's link to that process.
        clock: Monotonic time, in seconds.
        lease: Seconds that the session lives without an open stream or direct channel and without a request.
        timeout: Seconds that the current request may take.

    Attributes:
        lease: The same.
        timeout: The same; it changes when the environment is made.
        lease_runs_from: When the lease last restarted: at a request, reply or renewal, or a check that found the client
            connected.
        busy_since: When the request that the front waits for began; None if it waits for none.
        streams: Number of open streams that used the session.
        max_idle: Seconds for which a connected client may send no request; 0 for ever.
        waited: Total seconds for which the front waited for replies of the process.
    """

    _process: Process
    _link: SessionLink
    _clock: Callable[[], float]
    lease: float
    timeout: float
    busy_since: float | None = field(default=None, init=False)
    streams: int = field(default=0, init=False)
    waited: float = field(default=0.0, init=False)
    max_idle: float = field(default=0.0, init=False)
    _monitor: ConnectionMonitor | None = field(default=None, init=False)
    _served: int = field(default=0, init=False)
    _unread_since: float | None = field(default=None, init=False)
    _probes: int = field(default=0, init=False)
    _used: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.lease_runs_from = self._heard_at = self._used_at = self._clock()

    def touch(self) -> None:
        """Renews the lease."""
        self.lease_runs_from = self._clock()

    def asked(self) -> None:
        """Records that a request was sent to the process."""
        self.lease_runs_from = self._clock()
        if self.busy_since is None:
            self.busy_since = self.lease_runs_from

    def probed(self) -> None:
        """Records that a probe was sent, which the process counts like a request of its client."""
        self._probes += 1
        self.asked()

    def answered(self, more: bool) -> None:
        """Records a reply of the process.

        Args:
            more: Whether another reply is pending.
        """
        self.lease_runs_from = self._heard_at = self._clock()
        if self.busy_since is not None:
            self.waited += self.lease_runs_from - self.busy_since
        self.busy_since = self.lease_runs_from if more else None

    def connect(self, monitor: ConnectionMonitor) -> None:
        """Watches a new direct channel, which replaces the last one."""
        self.disconnect()
        self._monitor = monitor

    def disconnect(self) -> None:
        """Stops watching the direct channel, if there is one."""
        if self._monitor is not None:
            self._monitor.close()

    def update(self) -> bool:
        """Updates from the scoreboard what the session served on direct channels, which bypass the front.

        The scoreboard counts only while the client is connected, because an environment can write to it.

        Returns:
            Whether the process must be probed for a sign of life: a process that was stopped or hangs in the kernel
            stays connected.
        """
        now = self._clock()
        if self.busy_since is not None and self._process.busy_with_others(self._link):
            self.busy_since = now  # its time starts once the process is free to serve it
        if self._monitor is None or not self._monitor.is_open():
            return False
        self.lease_runs_from = now
        served = self._process.scoreboard.served(self._link.slot)
        if served != self._served:
            self._served, self._heard_at = served, now
        unread = self._monitor.unread and not self._process.busy_with_others(self._link)
        if not unread or self._heard_at == now:
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = now
        return not self.busy and self._is_silent(now)

    def _is_silent(self, now: float) -> bool:
        """Returns whether the process gave no sign for longer than a request may take, or leaves requests unread."""
        silent = now - self._heard_at
        unread = 0.0 if self._unread_since is None else now - self._unread_since
        return silent > self.timeout or min(unread, silent) > UNREAD_SECONDS

    def discount_stall(self, seconds: float) -> None:
        """Excludes time during which the front's own event loop was stalled from lease and request deadlines."""
        self.lease_runs_from += seconds
        self._heard_at += seconds
        self._used_at += seconds
        if self._unread_since is not None:
            self._unread_since += seconds
        if self.busy_since is not None:
            self.busy_since += seconds

    @property
    def attached(self) -> bool:
        """Whether the client is present, by a stream, a direct channel or a request."""
        direct = self._monitor is not None and self._monitor.was_open
        return direct or self.streams > 0 or self.busy

    @property
    def busy(self) -> bool:
        """Whether the session is serving a request."""
        return self.busy_since is not None or self._served_for() > 0

    def overdue(self, now: float) -> bool:
        """Returns whether the current request has exceeded its deadline."""
        asked = 0.0 if self.busy_since is None else now - self.busy_since
        return max(asked, self._served_for()) > self.timeout

    def expired(self, now: float) -> bool:
        """Returns whether the lease has run out: no request, stream or direct channel for that long."""
        unused = self.streams == 0 and self.busy_since is None
        return unused and now - self.lease_runs_from > self.lease

    def idle_left(self, now: float) -> float:
        """Returns the seconds until the session ends unless its client sends a request; infinity if it may stay."""
        if not self.max_idle:
            return math.inf
        used = self._process.scoreboard.served(self._link.slot) - self._probes
        # While a probe is not answered, it is fewer than before.
        if used > self._used or (self.busy and used == self._used):
            self._used, self._used_at = used, now
        return self._used_at + self.max_idle - now

    def _served_for(self) -> float:
        return self._process.scoreboard.busy_for(self._link.slot)
