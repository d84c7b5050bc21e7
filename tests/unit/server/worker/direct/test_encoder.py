"""Which arrays are encoded, and how: those that arrive sooner, as it was measured."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import numpy as np
import pytest

from envwire.server._worker.direct import encoder as module
from envwire.server._worker.direct.encoder import UNKNOWN, Encoder, PathRate
from envwire.v1 import direct_pb2
from envwire.wire.encodings import ENCODED, Decoder, zstandard
from envwire.wire.frames import Area, Attachments

ZSTD = ENCODED + direct_pb2.ENCODING_ZSTD
XOR = ENCODED + direct_pb2.ENCODING_XOR_ZSTD
LIMIT = 1 << 22
#: Seconds that each encoding takes here.
COMPUTING = 0.01
RNG = np.random.default_rng(3)
NOISE = RNG.integers(0, 256, 100_000, np.uint8)


class Slow:
    """A compressor that takes a time of the test's clock."""

    def __init__(self, clock: list[float]) -> None:
        self._clock, found = clock, zstandard()
        assert found is not None
        self._library = found

    def compress(self, data: bytes | memoryview) -> bytes:
        self._clock[0] += COMPUTING
        return self._library.compress(data)

    def decompress(self, frame: bytes | memoryview, limit: int) -> bytes:
        return self._library.decompress(frame, limit)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Encoder]:
    clock = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])
    with socket.socket() as connection:
        yield Encoder(Slow(clock), connection, LIMIT)


def answer(array: Area) -> Attachments:
    attachments = Attachments()
    attachments.add(array)
    return attachments


def locations(encoder: Encoder, answers: int, *, noisy: bool = False) -> list[int]:
    """Returns how each of some answers is sent, having decoded it; 0 for those that are sent as they are."""
    library = zstandard()
    assert library is not None
    decoder, found = Decoder(library, LIMIT), list[int]()
    for step in range(answers):
        array = NOISE.copy()
        array[step] ^= 1
        sent = encoder.encode(answer(RNG.permutation(array) if noisy else array))
        found.append(sent[0] if sent else 0)
        if sent and not noisy:
            decoded = decoder.decode(sent[0], np.frombuffer(sent[1], np.uint8))
            assert np.array_equal(decoded, array)
    return found


def measured(encoder: Encoder, monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
    monkeypatch.setattr(encoder._rate, "measure", lambda _answers: rate)


def test_differences_are_sent_over_a_slow_path(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(encoder, monkeypatch, 1e6)
    assert locations(encoder, 20) == [ZSTD] + [XOR] * 19


def test_arrays_are_sent_as_they_are_over_a_fast_path(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(encoder, monkeypatch, 1e9)
    assert sum(map(bool, locations(encoder, 500))) < 10


def test_noise_is_sent_as_it_is(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    measured(encoder, monkeypatch, 1e6)
    assert sum(map(bool, locations(encoder, 300, noisy=True))) < 10


def test_a_path_that_becomes_slow_is_noticed(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(encoder, monkeypatch, 1e9)
    locations(encoder, 150)
    measured(encoder, monkeypatch, 1e6)
    assert locations_after(encoder, 150)[-1] == XOR


def locations_after(encoder: Encoder, answers: int) -> list[int]:
    sent = [encoder.encode(answer(NOISE)) for _ in range(answers)]
    return [each[0] if each else 0 for each in sent]


def test_arrays_of_other_sizes_begin_anew(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(encoder, monkeypatch, 1e4)
    sizes = [5000, 5000, 4500, 5000, 5000, 5000]
    found = [encoder.encode(answer(NOISE[:size])) for size in sizes]
    assert [each and each[0] for each in found] == [ZSTD, XOR, ZSTD, ZSTD, XOR, XOR]


def test_what_would_not_fit_is_sent_as_it_is(encoder: Encoder) -> None:
    assert encoder.encode(answer(np.zeros(LIMIT // 2 + 1, np.uint8))) is None


def test_nor_is_what_no_client_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DECODED", 1000)
    with socket.socket() as connection:
        encoder = Encoder(Slow([0.0]), connection, LIMIT, always=True)
        assert encoder.encode(answer(np.zeros(1001, np.uint8))) is None
        assert encoder.encode(answer(np.zeros(1000, np.uint8))) is not None


class Told(socket.socket):
    """A socket of which the kernel tells what a test says."""

    def __init__(self, *told: tuple[int, int, int, int, int]) -> None:
        super().__init__()
        self._told = list(told)

    def getsockopt(self, *_: int) -> bytes:  # type: ignore[override]
        return struct.pack("=7xB112xQ20xI8xQQ", *self._told.pop(0))


#: Three answers of 100 KB in 60 ms each, of which the round trip is 50: 10 MB a second beyond it, 1.7 with it.
IDLE = (1, 300_000, 50_000, 1_700_000, 180_000)


def test_the_round_trip_does_not_count_where_the_sender_waits() -> None:
    with Told(IDLE) as connection:
        assert PathRate(connection).measure(3) == pytest.approx(10e6)


def test_the_kernels_rate_holds_where_the_sender_does_not_wait() -> None:
    with Told((0, *IDLE[1:])) as connection:
        assert PathRate(connection).measure(3) == 1_700_000


def test_the_kernels_rate_is_believed_ten_times() -> None:
    with Told((1, 300_000, 60_000, 1_700_000, 180_000)) as connection:
        assert PathRate(connection).measure(3) == 17_000_000


def test_nothing_is_known_of_other_sockets() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert PathRate(ours).measure(1) == UNKNOWN
