"""The soak, in small: random kills and cuts, and at the end nothing is lost, doubled or left over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults.soak import run, verdict
from tests.secured import OPEN, Guard, public

LONG = pytest.mark.long
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("transport", "guard"),
    [
        pytest.param("unary", lambda: OPEN, marks=LONG, id="unary"),
        pytest.param("stream", lambda: OPEN, marks=LONG, id="stream"),
        pytest.param("direct-tcp", lambda: OPEN, id="direct-tcp"),
        pytest.param("direct-unix", lambda: OPEN, id="direct-unix"),
        pytest.param("unary", public, marks=LONG, id="unary through the forwarder"),
        pytest.param("stream", public, marks=LONG, id="stream through the forwarder"),
    ],
)
def test_nothing_is_lost_doubled_or_left_over(
    transport: str, guard: Callable[[], Guard], capfd: pytest.CaptureFixture[str]
) -> None:
    result = run(60, clients=4, transport=transport, seed=3, between=20, guard=guard())
    figures = "\n".join(f"{name}: {value}" for name, value in result.items())
    assert verdict(result), f"{figures}\n{capfd.readouterr().err}"
    assert result["faults injected"] == 60
