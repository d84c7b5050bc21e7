"""Replies that a session does not make itself: errors in its place, and notices that are added."""

from __future__ import annotations

import time

from envwire.codec import FaultError, Reason
from envwire.codec.notices import draining_notice
from envwire.server._ipc.fault_replies import fault_reply, reply_too_large
from envwire.v1 import environment_pb2
from envwire.wire.frames import Packet

#: The reply to a request for a session that is over or never existed.
GONE = fault_reply(
    FaultError(
        Reason.SESSION_CLOSED,
        "the session was closed before this request was served; make the environment again to go on",
    )
).SerializeToString()


def too_large(length: int, limit: int) -> bytes:
    """Returns the error that replaces a reply of `length` bytes."""
    return fault_reply(reply_too_large(length, limit)).SerializeToString()


def with_notice(packet: Packet, stops_at: float) -> Packet:
    """Returns a reply with the notice that the server stops at `stops_at`."""
    notice = draining_notice(stops_at - time.monotonic())
    beside = environment_pb2.InteractResponse(notices=[notice]).SerializeToString()
    return Packet(packet.message + beside, packet.attachments)
