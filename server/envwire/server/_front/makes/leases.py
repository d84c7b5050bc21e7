"""Leases: how long a session outlives its client's last request or connection."""

from __future__ import annotations

from envwire.codec.durations import to_seconds
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb


def grant_lease(request: pb.MakeRequest, config: ServerConfig) -> float:
    """Returns the lease of the session that a Make asks for, in seconds."""
    asked = to_seconds(request.lease)
    return min(asked, config.max_lease) if asked > 0 else config.lease
