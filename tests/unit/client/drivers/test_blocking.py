"""A session is closed in one call, without the threads of gRPC that an interrupt can leave without a lock."""

from __future__ import annotations

from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import REQUESTS
from envwire.wire.frames import Reply
from tests.unit.client.driven import driver_over


class WithoutThreads:
    """A transport that only answers the thread that asks."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def exchange(self, request: bytes, *_: object) -> Reply:
        """Answers."""
        self.asked.append(REQUESTS.kind(request))
        return Reply(pb.InteractResponse(close=pb.CloseResponse()).SerializeToString(), None)

    def close(self) -> None:
        """Is free."""
        self.asked.append("end")


def test_close_needs_no_other_thread() -> None:
    transport = WithoutThreads()
    driver_over(transport, lease=10.0, timeout=10.0).close()
    assert transport.asked == ["close", "end"]
