"""Encodes notices, which a server attaches to its answers."""

from __future__ import annotations

from typing import Final

from envwire.codec.durations import to_duration
from envwire.v1 import status_pb2

TRAILER: Final = "envwire-notices-bin"
"""The trailing metadata of unary calls that holds a NoticeList."""


def draining_notice(seconds: float) -> status_pb2.Notice:
    """Returns the notice that the server is about to stop, with the seconds left."""
    kind = status_pb2.Notice.KIND_DRAINING
    return status_pb2.Notice(kind=kind, time_left=to_duration(max(0.0, seconds)))
