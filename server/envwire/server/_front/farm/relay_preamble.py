"""What a server sends first on a connection for a client of a gateway, and how many it opens at a time."""

from __future__ import annotations

from typing import Final

PREAMBLE: Final = b"envrely\x01"
"""The first bytes; the key of the gateway's order follows, and then the bytes of a direct channel."""

KEY_BYTES: Final = 16
"""Length of a key."""

MOST_OPENING: Final = 64
"""Connections that a server opens at a time for one gateway, which has this many clients wait for it."""
