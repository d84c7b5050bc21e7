"""What the front parses is small; what a session parses may be as large as a message."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.makes.request_size import check_size
from envwire.v1 import environment_pb2 as pb

LIMIT = 1000
MAKE = pb.InteractRequest(make=pb.MakeRequest(env_id="x" * LIMIT)).SerializeToString()
STEP = pb.InteractRequest(
    step=pb.StepRequest(header=pb.SessionHeader(session_id="x" * LIMIT))
).SerializeToString()
SMALL = pb.InteractRequest(make=pb.MakeRequest(env_id="x")).SerializeToString()


@pytest.mark.parametrize(
    ("raw", "refused"),
    [
        (SMALL, None),
        (STEP, None),
        (b"\xff" * LIMIT, None),  # whoever parses it says what is wrong
        (MAKE, Reason.MESSAGE_TOO_LARGE),
        (STEP + MAKE, Reason.MESSAGE_TOO_LARGE),
        (STEP + SMALL, Reason.MESSAGE_TOO_LARGE),
        (SMALL + STEP, Reason.MESSAGE_TOO_LARGE),
        (STEP * 100, Reason.MESSAGE_TOO_LARGE),
        (STEP[:-1], Reason.MALFORMED_REQUEST),
        (b"\xff" * (LIMIT + 1), Reason.MALFORMED_REQUEST),
    ],
)
def test_check_size(raw: bytes, refused: Reason | None) -> None:
    if refused is None:
        check_size(raw, LIMIT)
        return
    with pytest.raises(FaultError) as fault:
        check_size(raw, LIMIT)
    assert fault.value.reason is refused
