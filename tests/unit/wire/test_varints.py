"""Protobuf's smallest parts, against protobuf itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envwire.v1 import environment_pb2 as pb
from envwire.wire.varints import read_varint, unwrap, varint, wrap


@pytest.mark.parametrize(
    ("number", "written"), [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\1"), (300, b"\xac\2")]
)
def test_varints(number: int, written: bytes) -> None:
    assert varint(number) == written


@settings(derandomize=True)
@given(st.integers(0, 2**64 - 1), st.binary(max_size=3))
def test_varints_come_back_and_end_where_they_end(number: int, behind: bytes) -> None:
    written = varint(number)
    assert read_varint(written + behind, 0) == (number, len(written))


@pytest.mark.parametrize("endless", [b"", b"\x80", b"\xff" * 11])
def test_a_varint_without_an_end_ends_nowhere(endless: bytes) -> None:
    assert read_varint(endless, 0) == (0, -1)


@pytest.mark.parametrize("size", [0, 1, 300])
def test_wrapping_is_what_protobuf_does(size: int) -> None:
    close = pb.CloseRequest(header=pb.SessionHeader(session_id="x" * size))
    field = pb.InteractRequest.DESCRIPTOR.fields_by_name["close"]
    wrapped = wrap(field.number, close.SerializeToString())
    assert wrapped == pb.InteractRequest(close=close).SerializeToString()
    assert unwrap(wrapped) == (field.number, close.SerializeToString())


@pytest.mark.parametrize("broken", [b"", b"\x0a", b"\x0a\x05abc", b"\x0a\x01abc"])
def test_what_is_not_one_whole_message_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="one embedded message"):
        unwrap(broken)
