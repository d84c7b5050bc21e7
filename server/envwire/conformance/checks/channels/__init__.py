"""The stream and the direct channel."""

from __future__ import annotations

from envwire.conformance.checks.channels import (  # isort: skip
    streams,
    opening,
    frames,
    endings,
    direct_makes,
    shared_memory,
)

__all__ = ["direct_makes", "endings", "frames", "opening", "shared_memory", "streams"]
