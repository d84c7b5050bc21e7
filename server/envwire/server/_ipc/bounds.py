"""Bounds that the front and session processes share."""

from __future__ import annotations

#: Largest packet between the front and the fork server, in bytes.
PACKET_BYTES = 4096
