"""The soak, in small: random kills and cuts, and at the end nothing is lost, doubled or left over."""

from __future__ import annotations

import pytest

from tests.faults.soak import TRANSPORTS, run, verdict


@pytest.mark.parametrize(
    "transport",
    [pytest.param(name, marks=pytest.mark.long) for name in TRANSPORTS[:2]] + ["direct-tcp"],
)
def test_nothing_is_lost_doubled_or_left_over(
    transport: str, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run(faults=60, clients=4, transport=transport, seed=3, between=20)
    assert verdict(result), (result, capfd.readouterr().err)
    assert result["faults injected"] == 60
