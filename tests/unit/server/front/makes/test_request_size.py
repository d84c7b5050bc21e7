"""The front parses only small requests; a session parses requests up to the message limit."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.makes.request_size import check_size, split_session_request
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from envwire.wire.envelope import REQUESTS

LIMIT = 1000
MAKE = pb.InteractRequest(make=pb.MakeRequest(env_id="x" * LIMIT)).SerializeToString()
STEP = pb.InteractRequest(
    step=pb.StepRequest(header=pb.SessionHeader(session_id="x" * LIMIT))
).SerializeToString()
BODY = pb.StepRequest(action=values_pb2.Value(bytes_value=b"x" * LIMIT)).SerializeToString()
HEADER = pb.StepRequest(header=pb.SessionHeader(session_id="x")).SerializeToString()
SMALL = pb.InteractRequest(make=pb.MakeRequest(env_id="x")).SerializeToString()


@pytest.mark.parametrize(
    ("raw", "refused"),
    [
        (SMALL, None),
        (STEP, None),
        (REQUESTS.wrap("step", HEADER + BODY), None),
        (REQUESTS.wrap("step", BODY + HEADER), Reason.MESSAGE_TOO_LARGE),
        (REQUESTS.wrap("step", BODY[LIMIT:] + HEADER), None),
        (REQUESTS.wrap("make", HEADER + BODY), Reason.MESSAGE_TOO_LARGE),
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
        look_at(raw)
        return
    with pytest.raises(FaultError) as fault:
        look_at(raw)
    assert fault.value.reason is refused


def look_at(raw: bytes) -> None:
    """Does as the front does before it parses a request."""
    if split_session_request(raw) is None:
        check_size(raw, LIMIT)


def test_a_header_of_any_size_is_not_parsed() -> None:
    header = pb.SessionHeader(session_id="x" * 4096)
    step = pb.InteractRequest(step=pb.StepRequest(header=header)).SerializeToString()
    assert split_session_request(step) is None


def test_what_is_addressed_is_whole() -> None:
    parts = split_session_request(REQUESTS.wrap("step", HEADER + BODY))
    assert parts is not None
    assert parts.parse_header() == pb.SessionHeader(session_id="x")
    assert parts.request == REQUESTS.wrap("step", BODY)
