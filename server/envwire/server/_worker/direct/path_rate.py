"""How fast a path carries bytes, as the kernel's TCP has measured it."""

from __future__ import annotations

import socket
import struct

#: Bytes a second where nothing was measured yet, or the kernel does not tell: 200 Mbit/s. Behind the front's TLS, the
#: session has no TCP connection of its own.
UNKNOWN = 25e6
#: How many times the kernel's own rate is believed: a difference of times near zero is no measurement.
_MOST_TIMES = 10.0
#: Fields of `struct tcp_info`: whether the sender was idle, the least round trip in microseconds, bytes a second of the
#: fastest flight, and microseconds in which something was unacknowledged; between them the acknowledged bytes.
_INFO = struct.Struct("=7xB112xQ20xI8xQQ")
_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None)


class PathRate:
    """Measures a connection between two looks at it.

    The kernel's own rate includes the round trip if the sender waits for requests, as between the steps of an
    environment. Then what was acknowledged is divided by the time that it took beyond the round trip.

    Args:
        connection: The connection.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._acked = self._busy = 0

    def measure(self, answers: int) -> float:
        """Returns the bytes a second that the path carried since the last call.

        Args:
            answers: How many answers were sent since then, each after a request.
        """
        if _TCP_INFO is None:
            return UNKNOWN
        try:
            found = self._socket.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _INFO.size)
            flags, acked, least, rate, busy = _INFO.unpack(found)
        except (OSError, struct.error):
            return UNKNOWN
        acked_since, busy_since = acked - self._acked, (busy - self._busy) / 1e6
        self._acked, self._busy = acked, busy
        if not rate or not answers:
            return UNKNOWN
        kernels = float(rate)
        if not flags & 1:
            return kernels
        beyond = busy_since - answers * least / 1e6
        measured: float = acked_since / max(beyond, 1e-9)
        return max(kernels, min(_MOST_TIMES * kernels, measured))
