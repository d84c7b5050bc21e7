"""Encoding of a session's requests, and decoding of its answers."""

from __future__ import annotations

import numpy as np

from envwire.client._session.operations import Reset, StepMany
from envwire.codec import encode_value, envwire_family
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
