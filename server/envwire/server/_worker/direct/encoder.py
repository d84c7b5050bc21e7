"""Encodes the attachments of answers where they then arrive sooner, which it measures."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field

import numpy as np

from envwire.server._worker.direct.path_rate import PathRate
from envwire.v1 import direct_pb2
from envwire.wire.encodings import ENCODED, MOST_DECODED
from envwire.wire.frames import Area, Attachments
from envwire.wire.zstandard_frames import Zstandard

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
