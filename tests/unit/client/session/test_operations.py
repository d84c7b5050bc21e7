"""Encoding of a session's requests, and decoding of its answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.client._session.attribute_operations import CallMethod, GetAttribute, SetAttribute
from envwire.client._session.operations import Reset, RestoreState, StepMany
from envwire.codec import encode_value, envwire_family
from envwire.codec.spaces.random_states import encode_random_state
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Attachments


def test_observations_of_a_chunk_may_be_attached() -> None:
    attachments, answer = Attachments(), pb.StepResponse()
    observations = [np.arange(start, start + 600.0) for start in range(2)]
    for each in observations:
        step = answer.steps.add()
        encode_value(each, step.observation, attachments=attachments)
    area = np.frombuffer(b"".join(attachments.buffers), np.uint8).copy()
    steps, error = StepMany([0, 0]).read(answer, area, envwire_family())
    assert error is None
    assert identical([step[0] for step in steps], observations)


def test_options_without_entries_are_options() -> None:
    bodies = pb.ResetRequest(), pb.ResetRequest()
    Reset(options={}).write(bodies[0])
    Reset(options=None).write(bodies[1])
    assert [body.HasField("options") for body in bodies] == [True, False]


def test_each_environment_of_a_vector_has_its_options() -> None:
    body = pb.ResetRequest()
    Reset(member_options=[{"level": 1}, {}]).write(body)
    names = [[entry.name for entry in each.entries] for each in body.member_options]
    assert names == [["level"], []]


def test_a_state_is_restored_by_its_number() -> None:
    body = pb.RestoreStateRequest()
    RestoreState(5).write(body)
    assert body.state == 5


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        (GetAttribute("gravity", [1, 3]), pb.GetAttributeRequest()),
        (SetAttribute("gravity", 9.0, members=[1, 3]), pb.SetAttributeRequest()),
        (CallMethod("jump", (), {}, [1, 3]), pb.CallMethodRequest()),
    ],
)
def test_attributes_and_methods_are_those_of_the_chosen_environments(
    operation: Any, body: Any
) -> None:
    operation.write(body)
    assert list(body.members) == [1, 3]


def test_an_attribute_is_a_value_a_method_or_copies_of_generators() -> None:
    def read(answer: pb.GetAttributeResponse) -> Any:
        return GetAttribute("x").read(answer, None, envwire_family())

    value = pb.GetAttributeResponse()
    encode_value(9.0, value.value)
    assert read(value) == (9.0, False)
    assert read(pb.GetAttributeResponse(callable=True)) == (None, True)
    rngs = [np.random.default_rng(seed) for seed in range(2)]
    one, each = pb.GetAttributeResponse(), pb.GetAttributeResponse()
    encode_random_state(rngs[0], one.random.np_random)
    for rng in rngs:
        encode_random_state(rng, each.member_random.add().np_random)
    rng, is_method = read(one)
    assert rng.bit_generator.state == rngs[0].bit_generator.state
    assert is_method is False
    several, is_method = read(each)
    assert [rng.bit_generator.state for rng in several] == [rng.bit_generator.state for rng in rngs]
    assert is_method is False
