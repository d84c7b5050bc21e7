"""Protobuf's smallest parts, against protobuf itself."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from envwire.wire.varints import read_varint, tag, varint, wrap


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


@pytest.mark.parametrize(
    "message",
    [
        pb.StepResponse(reward=1.0),
        pb.StepResponse(terminated=True),
        pb.StepRequest(sequence=1),
        pb.StepRequest(header=pb.SessionHeader(session_id="x")),
        values_pb2.Value(string_value="x"),
        values_pb2.Value(int_value=-1),
        values_pb2.Value(float_value=1.0),
        values_pb2.Value(list=values_pb2.ValueList()),
        values_pb2.ValueList(values=[values_pb2.Value(bool_value=True)]),
        values_pb2.Tensor(data=b"x"),
        values_pb2.Tensor(attachment_offset=1),
    ],
    ids=repr,
)
def test_tags_are_those_that_protobuf_writes(message: Message) -> None:
    ((field, _),) = message.ListFields()
    assert message.SerializeToString().startswith(tag(message, field.name))
