"""A container's processor quota counts, if there is one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envwire.server._processes import placement as _placement


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
    monkeypatch.setattr(_placement, "_QUOTA", file)
    monkeypatch.setattr(_placement, "_QUOTA_V1", tmp_path / "none")
    everything: Callable[[int], set[int]] = lambda _: set(range(64))  # noqa: E731 - typed so
    monkeypatch.setattr(os, "sched_getaffinity", everything, raising=False)
    assert _placement.cpu_count() == expected


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("-1", 64), ("150000", 2), ("50000", 1), ("nonsense", 64), ("0", 64)],
)
def test_cpu_count_of_version_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, expected: int
) -> None:
    (tmp_path / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    monkeypatch.setattr(_placement, "_QUOTA", tmp_path / "none")
    monkeypatch.setattr(_placement, "_QUOTA_V1", tmp_path)
    everything: Callable[[int], set[int]] = lambda _: set(range(64))  # noqa: E731 - typed so
    monkeypatch.setattr(os, "sched_getaffinity", everything, raising=False)
    assert _placement.cpu_count() == expected
