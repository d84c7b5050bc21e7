"""Converts between seconds and google.protobuf.Duration."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration


def to_duration(seconds: float) -> Duration:
    """Returns seconds as a message, to the nanosecond."""
    duration = Duration()
    duration.FromNanoseconds(round(seconds * 1e9))
    return duration


def to_seconds(duration: Duration) -> float:
    """Returns the seconds of a message."""
    return duration.seconds + duration.nanos / 1e9
