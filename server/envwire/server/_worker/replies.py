"""Limits the length of replies, and adds notices to them, before they are sent."""

from __future__ import annotations

import time

from envwire.codec.notices import draining_notice
from envwire.server._ipc.fault_replies import fault_reply, reply_too_large
from envwire.v1 import environment_pb2
from envwire.wire.frames import Packet


def bounded(packet: Packet, limit: int) -> Packet:
    """Returns a reply, or an error in its place when it is longer than `limit` bytes."""
    attached = packet.attachments.length if packet.attachments else 0
    length = len(packet.message) + attached
    return packet if length <= limit else Packet(too_large(length, limit))


def too_large(length: int, limit: int) -> bytes:
    """Returns the error that is sent in place of a reply of `length` bytes."""
    return fault_reply(reply_too_large(length, limit)).SerializeToString()


def with_notice(packet: Packet, stops_at: float) -> Packet:
    """Returns a reply that also tells when the server stops."""
    notice = draining_notice(stops_at - time.monotonic())
    beside = environment_pb2.InteractResponse(notices=[notice]).SerializeToString()
    return Packet(packet.message + beside, packet.attachments)
