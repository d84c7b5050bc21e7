"""Notices that a server attaches to its answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from envwire.codec.durations import to_seconds
from envwire.v1 import status_pb2


@dataclass(frozen=True)
class Notice:
    """Something that a server tells all its clients.

    Attributes:
        kind: "DRAINING": the server makes no new sessions, and ends this one when the time is over.
        time_left: Seconds left when the notice was sent.
    """

    kind: str
    time_left: float


_KINDS = {status_pb2.Notice.KIND_DRAINING: "DRAINING"}


def read_notices(notices: Iterable[status_pb2.Notice]) -> tuple[Notice, ...]:
    """Returns the notices whose kind this client knows."""
    return tuple(
        Notice(_KINDS[each.kind], to_seconds(each.time_left))
        for each in notices
        if each.kind in _KINDS
    )
