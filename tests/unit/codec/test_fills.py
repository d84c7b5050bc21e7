"""A few bytes that stand for many: what they grow to is bounded for a message, not for each of its parts."""

from __future__ import annotations

import pytest

from envwire.client._session.operations import Reset, StepMany
from envwire.codec import CodecError, decode_space, envwire_family
from envwire.codec.fastpath.step_responses import StepResponseReader
from envwire.codec.steps import read_step
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2, values_pb2

#: Three quarters of the limit below.
_FILLED = values_pb2.Tensor(
    data_type=values_pb2.DATA_TYPE_UINT8, shape=[750], fill=True, data=b"\x01"
)
FILLED = values_pb2.Value(array=_FILLED)
INFO = values_pb2.ValueMap(entries=[values_pb2.ValueEntry(name="a", value=FILLED)])
FAMILY = envwire_family()


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envwire.codec.values.tensors._MAX_FILLED", 1000)
    monkeypatch.setattr("envwire.codec.spaces.context._MAX_FILLED_BOUNDS", 1000)


def test_of_an_observation_and_an_info() -> None:
    assert read_step(pb.StepResponse(observation=FILLED), FAMILY)[0].sum() == 750
    with pytest.raises(CodecError, match="250 are left"):
        read_step(pb.StepResponse(observation=FILLED, info=INFO), FAMILY)
    with pytest.raises(CodecError, match="250 are left"):
        read_step(pb.StepResponse(observation=FILLED, typed_reward=FILLED), FAMILY)
    with pytest.raises(CodecError, match="250 are left"):
        Reset(None, None).read(pb.ResetResponse(observation=FILLED, info=INFO), None, FAMILY)


def test_of_the_steps_of_a_chunk() -> None:
    steps = [pb.StepResponse(observation=FILLED)] * 2
    with pytest.raises(CodecError, match="250 are left"):
        StepMany([0, 0]).read(pb.StepResponse(steps=steps), None, FAMILY)


def test_of_the_members_of_a_space() -> None:
    box = spaces_pb2.Space(box=spaces_pb2.BoxSpace(low=_FILLED, high=_FILLED))
    with pytest.raises(CodecError, match="250 are left"):
        decode_space(box, FAMILY)


def test_the_fast_path_leaves_them_to_protobuf() -> None:
    step = pb.StepResponse(observation=FILLED, info=values_pb2.ValueMap())
    raw = pb.InteractResponse(step=step).SerializeToString()
    assert StepResponseReader(FAMILY).read(raw) is None
