"""Encoded attachments: what a peer may send, and what is refused before it takes memory."""

from __future__ import annotations

import numpy as np
import pytest

from envwire.v1 import direct_pb2
from envwire.wire.encodings import (
    ENCODED,
    MOST_DECODED,
    Decoder,
    Zstandard,
    ZstandardError,
    zstandard,
)
from envwire.wire.frames import Area

pytestmark = pytest.mark.skipif(zstandard() is None, reason="needs a library of Zstandard")
ZSTD = ENCODED + direct_pb2.ENCODING_ZSTD
XOR = ENCODED + direct_pb2.ENCODING_XOR_ZSTD
LIMIT = 1 << 20
FIRST = np.arange(10_000, dtype=np.uint16).view(np.uint8)
SECOND = FIRST ^ np.uint8(3)


def library() -> Zstandard:
    found = zstandard()
    assert found is not None
    return found


def encoded(content: Area) -> Area:
    return np.frombuffer(library().compress(content.tobytes()), np.uint8)


def test_differences_are_to_what_was_encoded_last() -> None:
    decoder = Decoder(library(), LIMIT)
    first = decoder.decode(ZSTD, encoded(FIRST))
    assert np.array_equal(first, FIRST)
    first[:] = 0  # the program's own
    for wanted, before in ((SECOND, FIRST), (FIRST, SECOND)):
        assert np.array_equal(decoder.decode(XOR, encoded(wanted ^ before)), wanted)


def bomb() -> Area:
    return encoded(np.zeros(LIMIT + 1, np.uint8))


def liar() -> Area:
    """Returns a frame that states fewer bytes than are in it, in four bytes behind the size of its window."""
    frame = bytearray(encoded(np.zeros(LIMIT, np.uint8)))
    assert frame[4] == 0x80, "a size of four bytes"
    frame[6:10] = (1000).to_bytes(4, "little")
    return np.frombuffer(frame, np.uint8)


@pytest.mark.parametrize(
    ("location", "data"),
    [
        (ZSTD, bomb()),
        (ZSTD, liar()),
        (ZSTD, encoded(FIRST)[:-1]),
        (ZSTD, np.concatenate([encoded(FIRST), encoded(FIRST)])),
        (ZSTD, np.arange(100, dtype=np.uint8)),
        (ZSTD, np.empty(0, np.uint8)),
        (XOR, encoded(FIRST)),
        (ENCODED, encoded(FIRST)),
        (ENCODED + 3, encoded(FIRST)),
    ],
    ids=["bomb", "liar", "cut", "two", "noise", "empty", "no first", "no encoding", "unknown"],
)
def test_what_is_not_allowed_is_refused(location: int, data: Area) -> None:
    with pytest.raises(ZstandardError):
        Decoder(library(), LIMIT).decode(location, data)


def test_whatever_the_sender_allows_a_few_bytes_fill_no_memory() -> None:
    """The limit of a channel is what the session's process says, and its environment runs in it."""
    frame = encoded(np.zeros(MOST_DECODED + 1, np.uint8))
    assert frame.size < 2**16
    with pytest.raises(ZstandardError, match=f"where {MOST_DECODED} are allowed"):
        Decoder(library(), 2**40).decode(ZSTD, frame)


def test_a_size_that_is_not_stated_is_refused() -> None:
    package = pytest.importorskip("zstandard")
    frame = package.ZstdCompressor(write_content_size=False).compress(FIRST.tobytes())
    with pytest.raises(ZstandardError, match="where 1048576 are allowed"):
        Decoder(library(), LIMIT).decode(ZSTD, np.frombuffer(frame, np.uint8))
