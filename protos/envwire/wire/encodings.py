"""Encodings of the attachments of a frame, for connections that are slower than compressing."""

from __future__ import annotations

from typing import Final

import numpy as np

from envwire.v1 import direct_pb2
from envwire.wire.frames import Area
from envwire.wire.zstandard_frames import Zstandard, ZstandardError

ENCODED: Final = 1 << 31
"""Location of attachments that follow the message and are encoded; the number of the encoding is added."""

ENCODINGS: Final = (direct_pb2.ENCODING_ZSTD, direct_pb2.ENCODING_XOR_ZSTD)
"""The encodings, all of which need Zstandard alone."""


MOST_DECODED: Final = 2**28
"""Most bytes that the attachments of a frame may be decoded to, whatever its sender allows: a few bytes could be all of
the receiver's memory."""


class Decoder:
    """Reads the encoded attachments of one channel.

    Args:
        zstandard: Decompresses them.
        limit: Most bytes that they may have when they are decoded, if that is less than `MOST_DECODED`.
    """

    def __init__(self, zstandard: Zstandard, limit: int) -> None:
        self._zstandard, self._limit = zstandard, min(limit, MOST_DECODED)
        #: What was decoded last. The caller's arrays are views of a copy, since it may write to them.
        self._last: Area = np.empty(0, np.uint8)

    def decode(self, location: int, encoded: Area) -> Area:
        """Returns the attachments, in memory of their own.

        Raises:
            ZstandardError: They cannot be decoded, or are larger than the limit.
        """
        content: Area = np.frombuffer(
            self._zstandard.decompress(encoded.data, self._limit), np.uint8
        )
        encoding = location - ENCODED
        if encoding == direct_pb2.ENCODING_XOR_ZSTD and content.size == self._last.size:
            content = np.bitwise_xor(content, self._last)
        elif encoding != direct_pb2.ENCODING_ZSTD:
            raise ZstandardError(
                f"attachments of encoding {encoding}, {content.size} bytes after {self._last.size}"
            )
        self._last = content
        return np.array(content)
