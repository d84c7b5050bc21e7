"""Until when the answer to a Make is sent: its client must still be there when it arrives."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from envwire.server._front.grpc import edge


class Call:
    """A call with so many seconds left."""

    def __init__(self, left: float | None) -> None:
        self._left = left

    def time_remaining(self) -> float | None:
        return self._left


@pytest.mark.parametrize(("left", "sent_until"), [(10.0, 9.9), (0.5, 0.45), (None, math.inf)])
def test_an_answer_is_not_sent_when_the_client_may_have_given_up(
    monkeypatch: pytest.MonkeyPatch, left: float | None, sent_until: float
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    call: Any = Call(left)
    assert edge.answer_deadline(call) == pytest.approx(1000.0 + sent_until)
