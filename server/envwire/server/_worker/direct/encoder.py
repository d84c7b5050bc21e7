"""Encodes the attachments of answers where they then arrive sooner: it measures itself, and the kernel the path."""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass, field

import numpy as np

from envwire.v1 import direct_pb2
from envwire.wire.encodings import ENCODED, MOST_DECODED, Zstandard
from envwire.wire.frames import Area, Attachments

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


_ZSTD, _XOR = direct_pb2.ENCODING_ZSTD, direct_pb2.ENCODING_XOR_ZSTD
#: After at most so many answers all encodings are tried again; sooner at first, when a connection is slower than it
#: will be.
_TRIED_EVERY, _SOONER = 100, 10
#: Decoding takes up to half as long as encoding.
_BOTH_ENDS = 1.5


@dataclass
class Encoder:
    """Encodes the answers of one channel.

    Args:
        zstandard: Compresses them.
        connection: The channel's connection.
        limit: Most bytes of an answer. Arrays of more than half of them are sent as they are, so that all that is
            encoded fits in, even if it does not become smaller; and those that no client decodes.
        always: Whether to encode all that becomes smaller, rather than what then arrives sooner.
    """

    zstandard: Zstandard
    connection: socket.socket
    limit: int
    always: bool = False
    _last: Area = field(default_factory=lambda: np.empty(0, np.uint8))
    #: The encoding in use; 0 for none.
    _chosen: int = 0
    #: Answers since all encodings were tried, and the number of them after which they are tried again.
    _since: int = 1
    _tried_after: int = 1

    def __post_init__(self) -> None:
        """Begins to measure."""
        self._most = min(self.limit // 2, MOST_DECODED)
        self._rate = PathRate(self.connection)

    def encode(self, attachments: Attachments) -> tuple[int, bytes] | None:
        """Returns the location and the bytes of encoded attachments; None to send them as they are."""
        self._since += 1
        due = self._since > self._tried_after
        if not (due or self._chosen) or attachments.length > self._most:
            return None
        plain = np.frombuffer(b"".join(attachments.buffers), np.uint8)
        # The first one is what the next are compared with.
        begun = self._chosen and plain.size == self._last.size
        if begun and due:
            encoding, sent = self._soonest(plain)
            self._chosen = encoding
        else:
            encoding = self._chosen if begun else _ZSTD
            sent = self._encoded(encoding, plain)
        if encoding and (len(sent) < plain.size or not begun):
            self._chosen, self._last = self._chosen or encoding, plain
            return ENCODED + encoding, sent
        self._chosen, self._since = 0, 0
        return None

    def _soonest(self, plain: Area) -> tuple[int, bytes]:
        """Returns the encoding in which attachments arrive first, and them in it; 0 if they do so as they are."""
        rate = self._rate.measure(self._since)
        self._since, self._tried_after = 0, min(self._tried_after * _SOONER, _TRIED_EVERY)
        best, least = (0, b""), plain.size / rate
        for encoding in (_ZSTD, _XOR):
            begun = time.perf_counter()
            sent = self._encoded(encoding, plain)
            seconds = len(sent) / rate
            if not self.always:
                seconds += (time.perf_counter() - begun) * _BOTH_ENDS
            if seconds < least:
                best, least = (encoding, sent), seconds
        return best

    def _encoded(self, encoding: int, plain: Area) -> bytes:
        content = np.bitwise_xor(plain, self._last) if encoding == _XOR else plain
        return self.zstandard.compress(content.data)
