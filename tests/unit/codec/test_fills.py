"""A few bytes that stand for many: what they grow to is bounded for a message, not for each of its parts."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.client._env.attributes import EnvAttributes
from envwire.client._session.operations import Reset, StepMany
from envwire.codec import (
    CodecError,
    FaultError,
    Reason,
    decode_env_spec,
    decode_space,
    envwire_family,
)
from envwire.codec.fastpath.step_responses import StepResponseReader
from envwire.codec.steps import read_step
from envwire.server._hosting.environment_making import make_environment
from envwire.server._hosting.libraries import load_catalogue
from envwire.server._session.hosted_env import HostedEnv
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2, specs_pb2, values_pb2

#: Three quarters of the limit below.
_FILLED = values_pb2.Tensor(
    data_type=values_pb2.DATA_TYPE_UINT8, shape=[750], fill=True, data=b"\x01"
)
FILLED = values_pb2.Value(array=_FILLED)
INFO = values_pb2.ValueMap(entries=[values_pb2.ValueEntry(name="a", value=FILLED)])
FAMILY = envwire_family()
SPACE = spaces_pb2.Space(multi_binary=spaces_pb2.MultiBinarySpace(shape=[1]))


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envwire.codec.values.tensors._MAX_FILLED", 1000)
    monkeypatch.setattr("envwire.codec.spaces.space_context._MAX_FILLED_BOUNDS", 1000)


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


def test_of_the_arguments_in_a_specification() -> None:
    wrapper = specs_pb2.WrapperSpec(name="w", entry_point="a:b", recorded=True, kwargs=INFO)
    assert decode_env_spec(specs_pb2.EnvSpec(id="x-v0", kwargs=INFO), FAMILY, "a:b").kwargs
    for spec in (
        specs_pb2.EnvSpec(id="x-v0", additional_wrappers=[wrapper] * 2),
        specs_pb2.EnvSpec(id="x-v0", kwargs=INFO, additional_wrappers=[wrapper]),
        specs_pb2.EnvSpec(id="x-v0", kwargs=INFO, reward_threshold=FILLED),
    ):
        with pytest.raises(CodecError, match="250 are left"):
            decode_env_spec(spec, FAMILY, "a:b")


class Described(EnvAttributes[Any]):
    """What a proxy knows from the answer to its Make."""

    def __init__(self) -> None:
        self._family = FAMILY

    def describe(self, made: pb.MakeResponse) -> None:
        self._describe(made)


def test_of_what_an_environment_is_described_by() -> None:
    made = pb.MakeResponse(
        observation_space=SPACE, action_space=SPACE, metadata=INFO, reward_range=FILLED
    )
    with pytest.raises(CodecError, match="250 are left"):
        Described().describe(made)


def test_of_the_arguments_of_a_make() -> None:
    wrappers = [pb.WrapperRequest(name="TimeLimit", kwargs=INFO)] * 2
    request = pb.MakeRequest(env_id="CartPole-v1", wrappers=wrappers)
    with pytest.raises(FaultError, match="250 are left") as refused:
        make_environment(load_catalogue(["CartPole-v1"], imports=(), wrappers=()), request)
    assert refused.value.reason is Reason.INVALID_VALUE


def test_of_the_actions_of_a_request() -> None:
    hosted = HostedEnv(None, FAMILY)
    assert hosted.read(FILLED).sum() == 750
    values = hosted.read_each([FILLED, FILLED])
    assert next(values).sum() == 750
    with pytest.raises(FaultError, match="250 are left"):
        next(values)


def test_the_fast_path_leaves_them_to_protobuf() -> None:
    step = pb.StepResponse(observation=FILLED, info=values_pb2.ValueMap())
    raw = pb.InteractResponse(step=step).SerializeToString()
    assert StepResponseReader(FAMILY).read(raw) is None
