"""Times as messages."""

from __future__ import annotations

import pytest
from google.protobuf.duration_pb2 import Duration

from envwire.codec.messages import to_duration, to_seconds


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (0.0, Duration()),
        (90.25, Duration(seconds=90, nanos=250_000_000)),
        (1e-9, Duration(nanos=1)),
        (-1.5, Duration(seconds=-1, nanos=-500_000_000)),
    ],
)
def test_seconds_there_and_back(seconds: float, message: Duration) -> None:
    assert to_duration(seconds) == message
    assert to_seconds(message) == seconds
