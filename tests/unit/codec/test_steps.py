"""The usual step by its fixed parts: the very bytes of protobuf, read as protobuf reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from envwire.codec import encode_value, envwire_family
from envwire.codec.steps import (
    StepRequestReader,
    StepRequestWriter,
    StepResponseReader,
    StepResponseWriter,
    varint,
)
from envwire.codec.values import decode_value
from envwire.v1 import environment_pb2 as pb
from tests.equality import identical

ARRAYS = hnp.arrays(
    st.sampled_from([np.float32, np.uint8, np.int64, np.bool_, np.float16, ">f8"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
)
REWARDS = st.floats() | st.sampled_from([0.0, -0.0, 1.0])
PROFILE = settings(derandomize=True, max_examples=200, deadline=None)


def request(sequence: int, action: Any) -> bytes:
    message = pb.InteractRequest()
    message.step.session_id, message.step.secret, message.step.sequence = (
        "s" * 32,
        b"k" * 16,
        sequence,
    )
    encode_value(action, message.step.action)
    return message.SerializeToString()


def response(observation: Any, reward: float, terminated: bool, truncated: bool) -> bytes:
    message = pb.InteractResponse()
    step = message.step
    encode_value(observation, step.observation)
    step.reward, step.terminated, step.truncated = reward, terminated, truncated
    step.info.SetInParent()
    return message.SerializeToString()


@PROFILE
@given(st.integers(1, 2**40), st.integers(-(2**70), 2**70) | ARRAYS)
def test_requests_are_protobufs_bytes(sequence: int, action: Any) -> None:
    written = StepRequestWriter("s" * 32, b"k" * 16).write(sequence, action)
    assert written in {None, request(sequence, action)}


@PROFILE
@given(ARRAYS, REWARDS, st.booleans(), st.booleans())
def test_responses_are_protobufs_bytes_and_come_back(
    observation: Any, reward: float, terminated: bool, truncated: bool
) -> None:
    whole = response(observation, reward, terminated, truncated)
    written = StepResponseWriter().write(observation, reward, terminated, truncated)
    assert written in {None, whole}
    reader = StepResponseReader()
    arrived = decode_value(pb.InteractResponse.FromString(whole).step.observation, envwire_family())
    reader.learn(arrived)
    read = reader.read(whole)
    if read is not None:
        assert identical(read, (arrived, reward, terminated, truncated, {}))
        assert read[0].flags.writeable
        assert read[0].flags.c_contiguous


@pytest.mark.parametrize(
    "action", [0, 1, -1, 2**40, np.zeros(3, np.float32), np.zeros((2, 2), np.int64)]
)
def test_usual_actions_are_written(action: Any) -> None:
    assert StepRequestWriter("s" * 32, b"k" * 16).write(7, action) is not None


@pytest.mark.parametrize(
    "action", ["x", None, True, np.int64(1), np.zeros(0), {"a": 1}, np.array([object()])]
)
def test_other_actions_are_left_to_protobuf(action: Any) -> None:
    assert StepRequestWriter("s" * 32, b"k" * 16).write(7, action) is None


def test_one_writer_serves_changing_shapes() -> None:
    writer, requests = StepResponseWriter(), StepRequestWriter("s" * 32, b"k" * 16)
    for array in (np.zeros(4, np.float32), np.ones((2, 3), np.uint8), np.zeros(4, np.float32)):
        assert writer.write(array, 1.0, False, True) == response(array, 1.0, False, True)
        assert requests.write(9, array) == request(9, array)


@pytest.mark.parametrize(
    ("reward", "terminated", "truncated"),
    [(np.float64(1), False, False), (1, False, False), (1.0, np.False_, False), (1.0, False, 0)],
)
def test_other_types_are_left_to_protobuf(reward: Any, terminated: Any, truncated: Any) -> None:
    assert StepResponseWriter().write(np.zeros(2), reward, terminated, truncated) is None


@PROFILE
@given(st.data())
def test_damaged_answers_are_left_to_protobuf_or_read_alike(data: st.DataObject) -> None:
    observation = np.arange(4, dtype=np.float32)
    whole = bytearray(response(observation, 1.5, True, False))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    reader = StepResponseReader()
    reader.learn(observation)
    read = reader.read(cut)
    if read is not None:
        step = pb.InteractResponse.FromString(cut).step
        arrived = decode_value(step.observation, envwire_family())
        assert identical(read, (arrived, step.reward, step.terminated, step.truncated, {}))


@pytest.mark.parametrize(
    ("number", "written"), [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\1"), (300, b"\xac\2")]
)
def test_varints(number: int, written: bytes) -> None:
    assert varint(number) == written


def reader_of_requests() -> StepRequestReader:
    reader = StepRequestReader()
    reader.learn(pb.InteractRequest.FromString(request(1, 0)).step)
    return reader


@PROFILE
@given(st.integers(1, 2**64 - 1), st.integers(-(2**63), 2**63 - 1))
def test_requests_are_read_as_protobuf_reads_them(sequence: int, action: int) -> None:
    reader = reader_of_requests()
    for _ in range(2):
        assert reader.read(request(sequence, action)) == (sequence, action)


@pytest.mark.parametrize("action", [True, 0.5, np.int64(1), "x", None, 2**70])
def test_requests_with_other_actions_are_left_to_protobuf(action: Any) -> None:
    assert reader_of_requests().read(request(1, action)) is None


def test_requests_of_others_or_with_more_in_them_are_left_to_protobuf() -> None:
    whole = pb.InteractRequest.FromString(request(1, 0))
    for field, value in (
        ("session_id", "t" * 32),
        ("secret", b"l" * 16),
        ("mirror_np_random", True),
    ):
        other = pb.InteractRequest()
        other.CopyFrom(whole)
        setattr(other.step, field, value)
        assert reader_of_requests().read(other.SerializeToString()) is None
    assert StepRequestReader().read(request(1, 0)) is None


@PROFILE
@given(st.data())
def test_damaged_requests_are_left_to_protobuf_or_read_alike(data: st.DataObject) -> None:
    whole = bytearray(request(300, 5))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    read = reader_of_requests().read(cut)
    if read is not None:
        step = pb.InteractRequest.FromString(cut).step
        assert read == (step.sequence & (2**64 - 1), step.action.int_value)
