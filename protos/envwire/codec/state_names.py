"""Names of protobuf states for people and metrics."""

from __future__ import annotations


def state_name(name: str) -> str:
    """Returns a state's name without its enum's prefix: "idle" for "STATE_IDLE"."""
    return name.removeprefix("STATE_").lower()
