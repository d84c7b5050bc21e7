"""The sentence follows from the largest part of the time."""

from __future__ import annotations

import pytest

from envwire.dashboard.model import NOTHING, Activity
from envwire.dashboard.verdict import QUIET, shares, verdict


@pytest.mark.parametrize(
    ("doing", "begins"),
    [
        ([], QUIET),
        ([NOTHING], QUIET),
        ([Activity(10, 0.1, 0.1, 0.8)], "Agents and the network take 80 %"),
        ([Activity(10, 0.9, 0.1, 0.0), NOTHING], "Environments take 90 %"),
        ([Activity(1, 0.0, 1.0, 0.0), Activity(1, 0.0, 0.5, 0.5)], "Requests other than steps"),
    ],
)
def test_verdict(doing: list[Activity], begins: str) -> None:
    parts = shares(doing)
    assert verdict(parts).startswith(begins)
    assert not parts or sum(parts.values()) == pytest.approx(1.0)
