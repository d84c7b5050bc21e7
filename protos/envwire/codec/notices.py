"""Encodes notices, which a server sends beside its answers."""

from __future__ import annotations

from typing import Final

from envwire.v1 import status_pb2

TRAILER: Final = "envwire-notices-bin"
"""The trailing metadata of unary calls that holds a NoticeList."""


def draining_notice(seconds: float) -> status_pb2.Notice:
    """Returns the notice that the server is about to stop, with the seconds left."""
    notice = status_pb2.Notice(kind=status_pb2.Notice.KIND_DRAINING)
    notice.time_left.FromNanoseconds(max(0, round(seconds * 1e9)))
    return notice
