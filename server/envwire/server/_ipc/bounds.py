"""Bounds that both sides of a session process know."""

from __future__ import annotations

#: Largest packet between the front and the fork server, in bytes.
PACKET_BYTES = 4096
#: How long the client of a direct channel may take to read a reply, in seconds; then the channel is closed. A slow
#: reader holds up its own process, and neighbours that are packed into it, no longer than this.
SEND_SECONDS = 30
