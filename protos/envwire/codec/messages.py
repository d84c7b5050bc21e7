"""Protobuf's messages in general: durations, readable names of enum values, and nested messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

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


def nested(message: Message) -> Iterator[Message]:
    """Yields the messages in the fields of a message that are set, in the order of their numbers."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            children: Any = value if is_repeated(field) else (value,)
            yield from children


def is_repeated(field: Any) -> bool:
    """Returns whether a field, given by its descriptor, holds a list."""
    # protobuf 7 drops `label`, earlier ones have no `is_repeated`.
    repeated: bool | None = getattr(field, "is_repeated", None)
    return field.label == field.LABEL_REPEATED if repeated is None else repeated


def state_name(name: str) -> str:
    """Returns a state's name without the prefix of its enum: "idle" for "STATE_IDLE"."""
    return name.removeprefix("STATE_").lower()
