"""A container's quota counts, where there is one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envwire.server._processes import processors as _processors


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("max 100000", 64), ("150000 100000", 2), ("50000 100000", 1), ("nonsense", 64), (None, 64)],
)
def test_cpu_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str | None, expected: int
) -> None:
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    monkeypatch.setattr(_processors, "_QUOTA", file)
    everything: Callable[[int], set[int]] = lambda _: set(range(64))  # noqa: E731 - typed so
    monkeypatch.setattr(os, "sched_getaffinity", everything, raising=False)
    assert _processors.cpu_count() == expected
