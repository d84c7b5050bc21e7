"""The stream and the direct channel."""

from __future__ import annotations

from envwire.conformance.checks.channels import (  # isort: skip
    streams,
    opening,
    frames,
    encoded,
    endings,
    direct_makes,
    shared_memory,
    mailbox,
    mailbox_wakes,
    mailbox_requests,
    device_memory,
)

__all__ = [
    "device_memory",
    "direct_makes",
    "encoded",
    "endings",
    "frames",
    "mailbox",
    "mailbox_requests",
    "mailbox_wakes",
    "opening",
    "shared_memory",
    "streams",
]
