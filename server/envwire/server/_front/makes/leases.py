"""Leases: how long a session outlives its client's last request or connection."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration

from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb


def grant_lease(request: pb.MakeRequest, config: ServerConfig) -> float:
    """Returns the lease of the session that a Make asks for, in seconds."""
    asked = request.lease.seconds + request.lease.nanos / 1e9
    return min(asked, config.max_lease) if asked > 0 else config.lease


def to_duration(seconds: float) -> Duration:
    """Returns a time as a message."""
    duration = Duration()
    duration.FromNanoseconds(round(seconds * 1e9))
    return duration
