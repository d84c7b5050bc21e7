"""Readable names of protobuf enum values, for output and metrics."""

from __future__ import annotations


def state_name(name: str) -> str:
    """Returns a state's name without the prefix of its enum: "idle" for "STATE_IDLE"."""
    return name.removeprefix("STATE_").lower()
