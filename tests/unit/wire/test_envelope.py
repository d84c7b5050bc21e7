"""Headers are added and removed as protobuf would do it, and the remaining bytes do not depend on them."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from envwire.v1 import environment_pb2 as pb
from envwire.v1.values_pb2 import Value
from envwire.wire.envelope import (
    REQUESTS,
    RESPONSES,
    Envelope,
    drop_header,
    locate_header,
    session_header,
    split_header,
    with_header,
    without_header,
)
from tests.tiers import examples

NUMBERED = (
    "reset",
    "step",
    "render",
    "close",
    "get_attribute",
    "set_attribute",
    "call_method",
    "replay",
    "save_state",
    "restore_state",
)
OF_A_SESSION = (*NUMBERED, "renew_lease", "get_session_stats")
HEADERS = st.builds(
    pb.SessionHeader, session_id=st.text(max_size=200), secret=st.binary(max_size=200)
)
PROFILE = examples(200)


def written(header: pb.SessionHeader) -> bytes:
    return session_header(header.session_id, header.secret)


@st.composite
def requests(draw: st.DrawFn) -> pb.InteractRequest:
    """Requests of a session, without a header."""
    request = pb.InteractRequest()
    body = getattr(request, draw(st.sampled_from(OF_A_SESSION)))
    body.SetInParent()
    if "sequence" in body.DESCRIPTOR.fields_by_name:
        body.sequence = draw(st.integers(0, 2**64 - 1))
    if "name" in body.DESCRIPTOR.fields_by_name:
        body.name = draw(st.text(max_size=300))
    return request


@pytest.mark.parametrize(
    ("envelope", "message"),
    [(REQUESTS, pb.InteractRequest), (RESPONSES, pb.InteractResponse)],
    ids=["request", "response"],
)
@pytest.mark.parametrize("content", [b"", b"\xca\x3e\x03abc"], ids=["empty", "with more in it"])
def test_an_envelope_tells_the_kind_of_what_it_holds(
    envelope: Envelope, message: Any, content: bytes
) -> None:
    (oneof,) = message.DESCRIPTOR.oneofs
    for kind in [field.name for field in oneof.fields]:
        wrapped = envelope.wrap(kind, content)
        assert message.FromString(wrapped).WhichOneof(oneof.name) == kind
        assert envelope.kind(wrapped) == kind
        assert envelope.unwrap(wrapped) == (kind, content)
        assert list(envelope.kinds(wrapped + wrapped)) == [kind, kind]
        with pytest.raises(ValueError, match="one embedded message"):
            envelope.unwrap(wrapped + wrapped)


@pytest.mark.parametrize("broken", [b"", b"\x0a", b"\x0a\x05abc", b"\x0a\x01abc"])
def test_what_is_not_one_whole_message_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="one embedded message"):
        REQUESTS.unwrap(broken)


UNKNOWN = b"\xca\x3e\x03abc"  # field 1001


def test_what_a_later_contract_may_hold_is_of_no_kind() -> None:
    assert REQUESTS.kind(UNKNOWN) == REQUESTS.kind(b"") == ""
    assert list(REQUESTS.kinds(UNKNOWN)) == [""]
    with pytest.raises(ValueError, match="no field 1001"):
        REQUESTS.unwrap(UNKNOWN)


@PROFILE
@given(requests(), HEADERS, HEADERS)
def test_a_header_is_put_in_and_taken_off(
    request: pb.InteractRequest, header: pb.SessionHeader, another: pb.SessionHeader
) -> None:
    bare = request.SerializeToString()
    body = getattr(request, request.WhichOneof("request") or "")
    body.header.CopyFrom(header)
    split_session_request = with_header(bare, written(header))
    assert split_session_request == request.SerializeToString()
    parts = split_header(split_session_request)
    assert parts == (written(header), bare)
    assert parts.parse_header() == header
    assert (
        without_header(split_session_request)
        == without_header(with_header(bare, written(another)))
        == bare
    )


@PROFILE
@given(st.binary(min_size=16, max_size=16), st.text("0123456789abcdef-", min_size=1, max_size=64))
def test_the_header_of_a_step_is_located_without_parsing(secret: bytes, session_id: str) -> None:
    header = session_header(session_id, secret)
    for bare in (BARE, LARGE):
        step = with_header(bare, header)
        named, start, end = locate_header(step)
        assert (named, step[start:end], drop_header(step, end)) == (session_id, header, bare)
        for cut in range(len(step) - 1, 0, -97):
            assert locate_header(step[:cut]) == ("", 0, 0)


def test_every_request_of_a_session_has_its_header_and_number_in_the_same_fields() -> None:
    fields = pb.InteractRequest.DESCRIPTOR.fields_by_name
    for name in OF_A_SESSION:
        header = fields[name].message_type.fields_by_name["header"]
        assert (header.number, header.message_type.name) == (1, "SessionHeader")
    for name in NUMBERED:
        assert fields[name].message_type.fields_by_name["sequence"].number == 2
    others = {"list_environments", "make", "get_server_info"}
    assert set(fields) == {*OF_A_SESSION, *others}


def test_without_a_header_nothing_is_put_in() -> None:
    request = pb.InteractRequest(make=pb.MakeRequest(env_id="x")).SerializeToString()
    assert with_header(request, b"") is request


HEADER = session_header("s" * 32, b"k" * 16)
BARE = pb.InteractRequest(step=pb.StepRequest(sequence=3)).SerializeToString()
LARGE = pb.InteractRequest(
    step=pb.StepRequest(action=Value(bytes_value=b"x" * 1000))
).SerializeToString()
STEP = with_header(BARE, HEADER)
CLOSE = pb.InteractRequest(close=pb.CloseRequest(sequence=3)).SerializeToString()
BEHIND = STEP[:1] + bytes((len(STEP) - 2,)) + BARE[2:] + HEADER


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        BARE,
        STEP[:-1],
        STEP + CLOSE,
        BEHIND,
        b"\x22\x02\x0a\x05",
        b"\x22\x02\x0a\xff",
        b"\x20\x01",
    ],
)
def test_only_a_header_that_comes_first_in_the_only_field_is_detached(request_: bytes) -> None:
    assert split_header(request_) is None


def test_a_header_elsewhere_is_found_by_parsing() -> None:
    assert without_header(BEHIND) == BARE
    assert without_header(BARE) == BARE


def test_a_message_behind_the_first_does_not_pass_with_it() -> None:
    assert without_header(STEP + CLOSE) == CLOSE


def test_a_second_header_is_left_for_the_session_to_refuse() -> None:
    twice = with_header(STEP, HEADER)
    assert pb.InteractRequest.FromString(without_header(twice)).step.HasField("header")


@pytest.mark.parametrize("broken", [b"\xff", b"\x22\x05\x0a"])
def test_what_cannot_be_parsed_is_no_request(broken: bytes) -> None:
    with pytest.raises(DecodeError):
        without_header(broken)
