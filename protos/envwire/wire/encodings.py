"""Encodings of the attachments of a frame, for connections that are slower than compressing.

Zstandard frames state the size of their content. They are written by Python 3.14's own library, or by the package
zstandard.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Final, Protocol

import numpy as np

from envwire.v1 import direct_pb2
from envwire.wire.frames import Area

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


#: The fastest level. Higher ones took five times as long for a tenth less of rendered frames.
_LEVEL = 1


class ZstandardError(ValueError):
    """Bytes that are no frame, or one of another size than was allowed."""


class Zstandard(Protocol):
    """Compresses and decompresses; for one thread at a time."""

    def compress(self, data: bytes | memoryview) -> bytes:
        """Returns a frame that states the size of its content."""
        ...

    def decompress(self, frame: bytes | memoryview, limit: int) -> bytes:
        """Returns the content of a frame; nothing is allocated before its stated size is known to be allowed.

        Raises:
            ZstandardError: It is no whole frame, states no size, or states more than `limit` bytes.
        """
        ...


class _Package:
    """The package zstandard."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._compressor = library.ZstdCompressor(level=_LEVEL)
        self._decompressor = library.ZstdDecompressor()

    def compress(self, data: bytes | memoryview) -> bytes:
        frame: bytes = self._compressor.compress(data)
        return frame

    def decompress(self, frame: bytes | memoryview, limit: int) -> bytes:
        try:
            size = self._library.frame_content_size(frame)
            _check(size, limit)
            content: bytes = self._decompressor.decompress(frame, allow_extra_data=False)
        except self._library.ZstdError as error:
            raise ZstandardError(f"no Zstandard frame: {error}") from error
        return content


class _StandardLibrary:
    """Python's own library."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def compress(self, data: bytes | memoryview) -> bytes:
        frame: bytes = self._library.compress(data, level=_LEVEL)
        return frame

    def decompress(self, frame: bytes | memoryview, limit: int) -> bytes:
        try:
            size = self._library.get_frame_info(frame).decompressed_size
            _check(size, limit)
            reader = self._library.ZstdDecompressor()
            content: bytes = reader.decompress(frame, max_length=size)
        except (self._library.ZstdError, ValueError) as error:
            raise ZstandardError(f"no Zstandard frame: {error}") from error
        if not reader.eof or reader.unused_data:
            raise ZstandardError("not one whole Zstandard frame")
        return content


LIBRARIES: Final = ("compression.zstd", "zstandard")
"""The modules of which the first that is installed is used."""


def zstandard() -> Zstandard | None:
    """Returns a new compressor, with memory of its own; None if no library is installed."""
    with contextlib.suppress(ImportError):
        return _StandardLibrary(importlib.import_module(LIBRARIES[0]))
    with contextlib.suppress(ImportError):
        return _Package(importlib.import_module(LIBRARIES[1]))
    return None


def _check(size: int | None, limit: int) -> None:
    if size is None or not 0 <= size <= limit:
        raise ZstandardError(f"a Zstandard frame of {size} bytes, where {limit} are allowed")
