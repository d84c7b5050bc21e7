"""Adds to the answer to a step when it was taken, for clients that ask for it."""

from __future__ import annotations

import time

from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES
from envwire.wire.frames import Packet

TIMES = "times"
"""The capability of a session that says when its steps were taken."""


def with_time(reply: Packet, begun: int) -> Packet:
    """Returns the reply to a step with its time; an error as it is.

    Args:
        reply: The reply.
        begun: When the step began, in nanoseconds of the monotonic clock.
    """
    kind, content = RESPONSES.unwrap(reply.message)
    if kind != "step":
        return reply
    taken = pb.StepTime(begun_nanoseconds=begun, ended_nanoseconds=time.monotonic_ns())
    content += pb.StepResponse(time=taken).SerializeToString()
    return Packet(RESPONSES.wrap("step", content), reply.attachments)
