"""Checks that every server has to pass."""

from __future__ import annotations

from envwire.conformance.checks.core import (  # isort: skip
    info,
    makes,
    resets,
    steps,
    values,
    spaces,
    sequence,
    ahead,
    times,
    secrets,
    closing,
    errors,
    leases,
)

__all__ = [
    "ahead",
    "closing",
    "errors",
    "info",
    "leases",
    "makes",
    "resets",
    "secrets",
    "sequence",
    "spaces",
    "steps",
    "times",
    "values",
]
