"""Large copies: every byte arrives, and no thread stays behind."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from envwire.server._worker.direct.shared_memory import copy_large
from envwire.server._worker.threads import count_threads

LARGE = (1 << 23) + 3


@pytest.mark.parametrize("length", [0, 1, 1000, LARGE])
def test_every_byte_is_copied(length: int) -> None:
    source = np.random.default_rng(1).integers(0, 256, length, np.uint8)
    target = bytearray(length)
    copy_large(memoryview(target), memoryview(source))
    assert target == source.tobytes()


def test_a_process_can_fork_at_once() -> None:
    source, target = memoryview(bytes(LARGE)), memoryview(bytearray(LARGE))
    before = count_threads()
    for _ in range(20):
        copy_large(target, source)
        assert count_threads() <= before


def test_without_a_thread_one_copies_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    target = bytearray(LARGE)
    copy_large(memoryview(target), b"\1" * LARGE)
    assert target == b"\1" * LARGE
