"""What clients of a server that is about to stop read beside each answer, by a clock that the test sets."""

from __future__ import annotations

from envwire.codec.messages import to_seconds
from envwire.server._front.admin_service import Notices
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2


def test_each_answer_says_how_much_time_is_left() -> None:
    now = 100.0
    notices = Notices(lambda: now)
    assert (notices.response_suffix(), notices.trailing_metadata()) == (b"", b"")
    notices.drain(30.0)
    notices.drain(5.0)  # a second order changes nothing
    now += 10.0
    (beside,) = pb.InteractResponse.FromString(notices.response_suffix()).notices
    (behind,) = status_pb2.NoticeList.FromString(notices.trailing_metadata()).notices
    assert beside == behind
    assert beside.kind == status_pb2.Notice.KIND_DRAINING
    assert to_seconds(beside.time_left) == 20.0
