"""Invalid recordings are refused; a long one is served in parts."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._session import replay as _replaying
from envwire.server._session.replay import MemberStarts, Replaying
from envwire.v1 import environment_pb2 as pb

STEP = pb.InteractRequest(step=pb.StepRequest()).SerializeToString()
ANSWER = pb.InteractResponse(step=pb.StepResponse(reward=1.0)).SerializeToString()


def serve(_kind: str, _body: Any) -> bytes:
    return ANSWER


def begin(_: object) -> MemberStarts:
    raise AssertionError("none of these recordings has members")


def apply(replaying: Replaying, requests: list[bytes], position: int = 0) -> pb.ReplayResponse:
    response = pb.ReplayResponse()
    replaying.apply(pb.ReplayRequest(requests=requests, position=position), response)
    return response


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (b"\xff", "not an InteractRequest"),
        (b"", "without content"),
        (pb.InteractRequest(close=pb.CloseRequest()).SerializeToString(), "a close cannot be"),
        (pb.InteractRequest(make=pb.MakeRequest()).SerializeToString(), "a make cannot be"),
        (pb.InteractRequest(replay=pb.ReplayRequest()).SerializeToString(), "a replay cannot be"),
    ],
)
def test_only_what_changes_an_environment_is_replayed(request_: bytes, says: str) -> None:
    with pytest.raises(FaultError, match=says) as refused:
        apply(Replaying(serve, begin), [STEP, request_])
    # The Replay used its number: MALFORMED_REQUEST would say that it did not.
    assert refused.value.reason is Reason.INVALID_VALUE


def test_parts_come_in_order() -> None:
    replaying = Replaying(serve, begin)
    assert apply(replaying, [STEP] * 3).served == 3
    with pytest.raises(FaultError, match="from request 5 on came where 3 were served"):
        apply(replaying, [STEP], position=5)
    whole = apply(replaying, [STEP] * 2, position=3)
    assert (whole.served, whole.digest) == (5, apply(replaying, [STEP] * 5).digest)


def test_a_long_recording_is_served_as_far_as_there_is_time() -> None:
    seconds = count()
    replaying = Replaying(serve, begin, lambda: float(next(seconds)))
    part = apply(replaying, [STEP] * 100)
    assert part.served == _replaying.PART_SECONDS + 1
    served = int(part.served)
    while served < 100:
        part = apply(replaying, [STEP] * (100 - served), position=served)
        assert len(part.checkpoints) == (served < 64 <= part.served)
        served = int(part.served)
    assert part.digest == apply(Replaying(serve, begin), [STEP] * 100).digest
