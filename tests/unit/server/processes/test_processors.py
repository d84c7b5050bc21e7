"""A container's processor quota counts, if there is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envwire.server._processes.resources import cpu_count

ALL = 64


@pytest.fixture(autouse=True)
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with so many processors."""

    def everything(_: int) -> set[int]:
        return set(range(ALL))

    monkeypatch.setattr(os, "sched_getaffinity", everything, raising=False)


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("max 100000", ALL), ("150000 100000", 2), ("50000 100000", 1), ("nonsense", ALL)],
)
def test_the_quota_is_rounded_up(tmp_path: Path, quota: str, expected: int) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    assert cpu_count(tmp_path) == expected


@pytest.mark.parametrize(
    ("quota", "expected"), [("-1", ALL), ("150000", 2), ("50000", 1), ("nonsense", ALL), ("0", ALL)]
)
def test_that_of_version_1_as_well(tmp_path: Path, quota: str, expected: int) -> None:
    group = tmp_path / "cpu"
    group.mkdir()
    (group / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    assert cpu_count(tmp_path) == expected


def test_without_a_quota_all_count(tmp_path: Path) -> None:
    assert cpu_count(tmp_path) == ALL
