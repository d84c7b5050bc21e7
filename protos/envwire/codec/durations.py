"""Converts between seconds and google.protobuf.Duration."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration

#: Longest time that is waited for or sent, in seconds: 31 years. Longer ones overflow in gRPC and in system calls.
LONGEST_SECONDS = 1e9


def to_duration(seconds: float) -> Duration:
    """Returns seconds as a message, to the nanosecond; at most `LONGEST_SECONDS`."""
    duration = Duration()
    duration.FromNanoseconds(round(min(seconds, LONGEST_SECONDS) * 1e9))
    return duration


def to_seconds(duration: Duration) -> float:
    """Returns the seconds of a message."""
    return duration.seconds + duration.nanos / 1e9
